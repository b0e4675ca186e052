// When operations are issued to asynchronous devices, and what happens to memory and failures meanwhile.
#include "asyncgrad/core/engine/device/launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/core/engine/engine.h"
#include "tests/core/engine/fake_device.h"
#include "tests/support/message_of.h"

namespace asyncgrad::tests {
namespace {

using testing::HasSubstr;

const Device gpu = "cuda:0";
constexpr std::int64_t mebi_bytes = std::int64_t{1} << 20;

std::int64_t live() { return memory_figures(gpu).live_bytes; }

// Blocks until everything on the device is issued.
void wait_until_issued() {
  const detail::DeviceOrder& order = *detail::device_state(gpu).order;
  while (order.oldest().load() != order.next()) std::this_thread::yield();
}

class Launcher : public testing::Test {
 protected:
  void TearDown() override { set_engine_options({}); }
  FakeDevices devices_;
};

TEST_F(Launcher, DevicesAreThereByName) {
  EXPECT_EQ(full({3}, 2, {.device = gpu}).to_vector<float>(), (std::vector<float>{2, 2, 2}));
  EXPECT_EQ(full({}, 3, {.device = "cuda:1"}).to(gpu).item(), 3);
  EXPECT_EQ(message_of([] { ones({3}, {.device = "cuda:2"}); }), "[device] there is no cuda:2 here");
}

TEST_F(Launcher, TheFrontEndDoesNotWait) {
  FakeDevices::hold(detail::compute_queue, true);
  Tensor x = ones({1000}, {.device = gpu});
  for (int i = 0; i < 100; ++i) x = x + 1.0;
  wait_until_issued();
  EXPECT_GE(engine_figures().queued, 100);
  FakeDevices::hold(detail::compute_queue, false);
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(1000, 101));
}

TEST_F(Launcher, CopiesRunBesideOperations) {
  const Tensor x = full({1000}, 4, {.device = gpu});
  x.wait();
  FakeDevices::hold(detail::compute_queue, true);
  const Tensor y = x * 2.0;
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(1000, 4));
  FakeDevices::hold(detail::compute_queue, false);
  EXPECT_EQ(y.to_vector<float>(), std::vector<float>(1000, 8));
}

// A write waits for a copy on another queue that still reads, and a copy waits for the write before it.
TEST_F(Launcher, EventsOrderQueues) {
  Tensor x = full({1000}, 1, {.device = gpu});
  FakeDevices::hold(detail::copy_out_queue, true);
  std::vector<Tensor> copies;
  for (int i = 0; i < 20; ++i) {
    copies.push_back(x.to("cpu"));
    x += 1.0;
  }
  FakeDevices::hold(detail::copy_out_queue, false);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(copies[static_cast<std::size_t>(i)].to_vector<float>(),
              std::vector<float>(1000, static_cast<float>(1 + i)));
  }
}

// Memory is taken and returned when operations are issued, however far the device is behind.
TEST_F(Launcher, OperationsTakeMemoryInTheirOrder) {
  set_engine_options({.workers = 1, .memory_budget = MemoryBudget::unbounded()});
  const std::int64_t before = live();
  reset_peaks(gpu);
  FakeDevices::hold(detail::compute_queue, true);
  Tensor x = ones({1000}, {.device = gpu});
  for (int i = 0; i < 100; ++i) x = x * 0.5 + 1.0;
  wait_until_issued();
  EXPECT_EQ(live() - before, 4032);
  EXPECT_LE(memory_figures(gpu).peak_live_bytes, memory_figures(gpu).serial_peak_bytes);
  FakeDevices::hold(detail::compute_queue, false);
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(1000, 2));
}

TEST_F(Launcher, WhatACopyStillReadsCountsAsEarly) {
  set_engine_options({.workers = 1, .memory_budget = MemoryBudget::bytes(0)});
  Tensor x = full({1000}, 1, {.device = gpu});
  x.wait();
  const std::int64_t with_one = live();
  FakeDevices::hold(detail::copy_out_queue, true);
  const Tensor copy = x.to("cpu");
  x = Tensor();
  const Tensor y = full({1000}, 2, {.device = gpu});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(live(), with_one);  // `y` has no room beside what the copy reads
  FakeDevices::hold(detail::copy_out_queue, false);
  EXPECT_EQ(y.to_vector<float>(), std::vector<float>(1000, 2));
  EXPECT_EQ(copy.to_vector<float>(), std::vector<float>(1000, 1));
}

TEST_F(Launcher, ARefusedLaunchPoisonsItsResultAlone) {
  Tensor x = full({10}, 1, {.device = gpu}), other = full({10}, 2, {.device = gpu});
  wait_all();
  FakeDevices::refuse_issues(1);
  x += 1.0;
  wait_until_issued();
  const Tensor y = x * 2.0;
  EXPECT_EQ((other + other).to_vector<float>(), std::vector<float>(10, 4));
  const std::string message = message_of([&] { y.wait(); });
  EXPECT_THAT(message, HasSubstr("[add] the launch was refused"));
  EXPECT_THAT(message, HasSubstr("launcher_test.cpp"));
  EXPECT_THAT(message_of([&] { x.to_vector<float>(); }), HasSubstr("the launch was refused"));
  recover();
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(10, 1));
}

// A device that gets no queues is out of use, but other devices are not. A new tensor on it tries again.
TEST_F(Launcher, ADeviceMayNotComeIntoUseAgainAtFirst) {
  Tensor x = full({10}, 1, {.device = gpu});
  const Tensor other = full({10}, 2, {.device = "cuda:1"});
  wait_all();
  FakeDevices::refuse_queues(1);
  EXPECT_EQ(message_of([] { set_engine_options({.workers = 2}); }), "[device] cuda:0 does not come into use");
  EXPECT_EQ(engine_options().workers, 2);
  EXPECT_EQ((full({10}, 3) + 1.0).to_vector<float>(), std::vector<float>(10, 4));
  EXPECT_EQ((other + 1.0).to_vector<float>(), std::vector<float>(10, 3));
  EXPECT_EQ(message_of([&] { x += 1.0; }), "[add] cuda:0 is not in use any more");
  EXPECT_EQ(message_of([&] { x.to("cpu"); }), "[copy] cuda:0 is not in use any more");
  FakeDevices::refuse_queues(1);
  EXPECT_EQ(message_of([&] { x + 1.0; }), "[device] cuda:0 does not come into use");
  EXPECT_EQ((x + 1.0).to_vector<float>(), std::vector<float>(10, 2));
}

TEST_F(Launcher, ADryRunMayBeginWithADeviceThatDoesNotComeIntoUse) {
  full({10}, 1, {.device = gpu}).wait();
  FakeDevices::refuse_queues(1);
  EXPECT_EQ(message_of([] { set_engine_options({.schedule = Schedule::dry_run}); }),
            "[device] cuda:0 does not come into use");
  const Tensor x = full({1000}, 3) + 1.0;
  EXPECT_GE(dry_run_report().operations, 2);
  EXPECT_THAT(message_of([&] { x.to_vector<float>(); }), HasSubstr("Schedule::dry_run"));
}

TEST_F(Launcher, CachedMemoryIsGivenBackOnRequest) {
  constexpr std::int64_t size = std::int64_t{1} << 20;
  { ones({size}, {.device = gpu}).wait(); }
  const std::int64_t cached = memory_figures(gpu).cached_bytes;
  EXPECT_GE(cached, 4 * size);
  trim_cache(gpu);
  EXPECT_LE(memory_figures(gpu).cached_bytes, cached - 4 * size);
}

// The device does nothing more after its failure in this process.
TEST_F(Launcher, ADeviceThatHasFailedSaysSo) {
  const Tensor x = full({10}, 1, {.device = gpu}), host = full({10}, 3);
  x.wait();
  FakeDevices::hold(detail::compute_queue, true);
  const Tensor in_flight = x * 2.0, copy = in_flight.to("cpu");
  wait_until_issued();
  FakeDevices::fail_for_good(gpu);
  FakeDevices::hold(detail::compute_queue, false);
  const Tensor after = x + 1.0;
  for (const Tensor& tensor : {in_flight, copy, after}) {
    EXPECT_THAT(message_of([&] { tensor.wait(); }),
                HasSubstr("[cuda:0] the device has failed and does nothing more until the process starts anew: an "
                          "illegal address"));
  }
  EXPECT_EQ((host + host).to_vector<float>(), std::vector<float>(10, 6));
  recover();
}

// Operations in flight when a device fails count as computed until a wait or a copy finds the failure.
TEST_F(Launcher, AnotherDeviceDoesNotReadFromOneThatHasFailed) {
  full({10}, 1, {.device = "cuda:1"}).wait();
  FakeDevices::hold(detail::compute_queue, true);
  const Tensor x = full({10}, 3, {.device = gpu});
  wait_until_issued();
  const Tensor there = x.to("cuda:1");
  FakeDevices::fail_for_good("cuda:0");
  FakeDevices::hold(detail::compute_queue, false);
  EXPECT_THAT(message_of([&] { there.to_vector<float>(); }), HasSubstr("[cuda:0] the device has failed"));
  recover();
}

TEST(LauncherAtFirstUse, SeveralThreadsMayComeAtOnce) {
  for (int round = 0; round < 20; ++round) {
    const FakeDevices devices;
    std::vector<std::thread> threads;
    for (const float value : {1.0F, 2.0F, 3.0F}) {
      threads.emplace_back([value] {
        const Tensor x = full({10}, value, {.device = gpu});
        EXPECT_EQ(x.to_vector<float>(), std::vector<float>(10, value));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(LauncherWithLittleMemory, GivesBackWhatIsCachedThenFails) {
  const FakeDevices devices({.memory_bytes = 8 * mebi_bytes});
  constexpr std::int64_t mebi = mebi_bytes / 4;  // in elements
  { ones({6 * mebi}, {.device = gpu}).wait(); }
  for (int i = 0; i < 5; ++i) {
    const Tensor x = full({3 * mebi}, i, {.device = gpu}), y = full({4 * mebi}, i, {.device = gpu});
    EXPECT_EQ(x.to_vector<float>(), std::vector<float>(3 * mebi, static_cast<float>(i)));
    EXPECT_EQ(y.to_vector<float>(), std::vector<float>(4 * mebi, static_cast<float>(i)));
  }
  const Tensor kept = ones({4 * mebi}, {.device = gpu}), large = ones({16 * mebi}, {.device = gpu});
  EXPECT_THAT(message_of([&] { large.wait(); }), HasSubstr("out of memory: 16777216 bytes were asked for"));
  EXPECT_EQ(kept.to_vector<float>(), std::vector<float>(4 * mebi, 1));
  recover();
}

// An operation waits for its scratch memory as for its result, until a copy in flight returns memory.
TEST(LauncherWithLittleMemory, WaitsForScratch) {
  const FakeDevices devices({.memory_bytes = 8 * mebi_bytes, .arange_scratch_bytes = 5 * mebi_bytes});
  set_engine_options({.workers = 1, .memory_budget = MemoryBudget::unbounded()});
  Tensor x = full({mebi_bytes}, 3, {.device = gpu});  // 4 MiB
  x.wait();
  FakeDevices::hold(detail::copy_out_queue, true);
  const Tensor copy = x.to("cpu");
  x = Tensor();
  const Tensor y = arange(0, 4, 1, {.device = gpu});
  while (FakeDevices::memory_refusals() == 0) std::this_thread::yield();
  FakeDevices::hold(detail::copy_out_queue, false);
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(copy.to_vector<float>(), std::vector<float>(mebi_bytes, 3));
  set_engine_options({});
}

TEST(LauncherWithLittleMemory, ScratchThatIsNeverThereFailsItsOperationAlone) {
  const FakeDevices devices({.memory_bytes = 8 * mebi_bytes, .arange_scratch_bytes = 16 * mebi_bytes});
  const Tensor x = full({10}, 3, {.device = gpu}), y = arange(0, 4, 1, {.device = gpu}), z = x * 2.0;
  EXPECT_THAT(message_of([&] { y.wait(); }),
              HasSubstr("[arange] out of memory: 64 bytes were asked for and 16777216 of workspace"));
  EXPECT_EQ(z.to_vector<float>(), std::vector<float>(10, 6));
  recover();
}

// The device keeps scratch memory for the next kernel until another operation needs it.
TEST(LauncherWithLittleMemory, ScratchThatIsKeptMayBecomeAResult) {
  const FakeDevices devices({.memory_bytes = 8 * mebi_bytes, .arange_scratch_bytes = 4 * mebi_bytes});
  const Tensor y = arange(0, 4, 1, {.device = gpu});
  y.wait();
  EXPECT_EQ(memory_figures(gpu).workspace_bytes, 4 * mebi_bytes);
  const Tensor x = full({mebi_bytes}, 3, {.device = gpu});
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(mebi_bytes, 3));
  EXPECT_EQ(memory_figures(gpu).workspace_bytes, 0);
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{0, 1, 2, 3}));
}

TEST(LauncherAtExit, LeavesWhatIsQueued) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const FakeDevices devices;  // there at the end, too: exit does not come back to this scope
        static Tensor x = ones({100'000}, {.device = gpu});
        for (int i = 0; i < 200; ++i) x = x + 1.0;
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace asyncgrad::tests
