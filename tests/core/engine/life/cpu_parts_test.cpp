// The CPU as several devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/core/engine/admission/devices.h"
#include "tests/core/engine/gate.h"
#include "tests/support/message_of.h"

namespace asyncgrad::tests {
namespace {

using testing::HasSubstr;

class CpuParts : public testing::Test {
 protected:
  void SetUp() override { set_engine_options({.workers = 2, .inline_tiny = false, .cpu_parts = 2}); }
  void TearDown() override { set_engine_options({}); }
};

TEST_F(CpuParts, AreDevicesByName) {
  EXPECT_EQ(ones({2}, {.device = "cpu:1"}).device(), Device("cpu:1"));
  EXPECT_EQ(ones({2}).device(), Device("cpu:0"));
  EXPECT_EQ(Device("cpu"), Device("cpu:0"));
  EXPECT_EQ(message_of([] { ones({2}, {.device = "cpu:2"}); }),
            "[device] there is no cpu:2 here, only cpu, cpu:1; EngineOptions::cpu_parts makes several of the CPU");
  for (const int parts : {0, 9}) {
    EXPECT_THAT(message_of([parts] { set_engine_options({.cpu_parts = parts}); }),
                HasSubstr("cpu_parts must be 1 to 8, got "));
  }
}

TEST_F(CpuParts, KeepTheirOperandsApart) {
  const Tensor x = ones({2}), y = ones({2}, {.device = "cpu:1"});
  EXPECT_EQ(message_of([&] { static_cast<void>(x + y); }),
            "[add] devices differ: x (2) on cpu, y (2) on cpu:1; y.to(\"cpu\") copies y");
  EXPECT_EQ((x.to("cpu:1") + y).to_vector<float>(), (std::vector<float>{2, 2}));
}

TEST_F(CpuParts, CountTheirMemoryApart) {
  const std::int64_t live_0 = memory_figures("cpu:0").live_bytes, live_1 = memory_figures("cpu:1").live_bytes;
  const Tensor x = ones({1000}, {.device = "cpu:1"});
  const Tensor y = x.to("cpu:0");
  y.wait();
  EXPECT_EQ(memory_figures("cpu:0").live_bytes - live_0, 4032);
  EXPECT_EQ(memory_figures("cpu:1").live_bytes - live_1, 4032);
}

// An operation that is held back on one part holds back nothing on the other, even with a budget of 0 bytes.
TEST_F(CpuParts, DoNotWaitForEachOther) {
  set_engine_options({.workers = 2, .memory_budget = MemoryBudget::bytes(0), .inline_tiny = false, .cpu_parts = 2});
  Gate gate;
  const Tensor held = ones({1000});
  gate.wait_until_held();
  Tensor x = ones({1000}, {.device = "cpu:1"});
  for (int i = 0; i < 100; ++i) x = x * 2.0 - x;
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(1000, 1));
  EXPECT_FALSE(gate.is_open());
}

TEST_F(CpuParts, AreWaitedForByThemselves) {
  Gate gate;
  const Tensor held = ones({1000});
  gate.wait_until_held();
  Tensor x = ones({1000}, {.device = "cpu:1"});
  for (int i = 0; i < 20; ++i) x *= 2.0;
  wait_all("cpu:1");
  EXPECT_TRUE(x.is_ready());
  EXPECT_FALSE(held.is_ready());
  const Tensor copy = held.to("cpu:1"), other = held + 1;
  gate.open();
  wait_all("cpu:1");  // what it waits for is done first
  EXPECT_TRUE(copy.is_ready() && held.is_ready());
  const Tensor back = (x + copy).to("cpu:0");
  wait_all("cpu:1");  // a copy from it belongs to both
  EXPECT_TRUE(back.is_ready());
  EXPECT_THAT(message_of([] { wait_all("cpu:7"); }), HasSubstr("there is no cpu:7 here"));
}

TEST_F(CpuParts, AWaitForOneThrowsWhatNobodyHasThrown) {
  {
    const Tensor bad = take(ones({2, 3}, {.device = "cpu:1"}), Tensor::from<std::int64_t>({5}, {1}, "cpu:1"));
    wait_all("cpu:0");
    mark().wait();
  }
  EXPECT_THAT(message_of([] { wait_all("cpu:1"); }), HasSubstr("[take]"));
  wait_all("cpu:1");
  recover();
}

TEST_F(CpuParts, TinyOperationsOfOneAreBegunWhenAnotherHasSome) {
  const Tensor x = ones({2}, {.device = "cpu:0"}), y = ones({2}, {.device = "cpu:1"});
  for (int round = 0; round < 100; ++round) {
    wait_all();
    const Tensor of_one = x + 1, of_other = y + 1;
    while (engine_figures().queued > 1) std::this_thread::yield();
  }
}

// A waiting thread computes for the part whose tensor it waits for.
TEST_F(CpuParts, CopiesGoOnBesideHeldOperations) {
  const Tensor x = arange(0, 1000, 1, {.device = "cpu:1"});
  x.wait();
  Gate gate;
  const Tensor held = ones({1000}, {.device = "cpu:0"});
  gate.wait_until_held();
  EXPECT_EQ(x.to("cpu:0").to_vector<float>()[999], 999);
}

TEST_F(CpuParts, PassGradientsOn) {
  Tensor w = parameter(full({3}, 2));
  const Tensor x = full({3}, 5, {.device = "cpu:1"});
  const Tensor loss = sum(w.to("cpu:1") * x);
  loss.backward();
  EXPECT_EQ(loss.device(), Device("cpu:1"));
  EXPECT_EQ(w.grad().device(), Device("cpu:0"));
  EXPECT_EQ(w.grad().to_vector<float>(), (std::vector<float>{5, 5, 5}));
}

TEST_F(CpuParts, AreLetGo) {
  const Tensor x = full({3}, 7, {.device = "cpu:1"});
  set_engine_options({.workers = 2});
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{7, 7, 7}));
  EXPECT_EQ(message_of([&] { static_cast<void>(x + 1.0); }),
            "[device] there is no cpu:1 here, only cpu; EngineOptions::cpu_parts makes several of the CPU");
  EXPECT_EQ(message_of([&] { static_cast<void>(x.to("cpu:0")); }), "[copy] cpu:1 is not in use any more");
  EXPECT_THAT(message_of([] { ones({3}, {.device = "cpu:1"}); }), HasSubstr("there is no cpu:1 here, only cpu"));
  set_engine_options({.workers = 2, .cpu_parts = 3});
  EXPECT_EQ((x + 1.0).to_vector<float>(), (std::vector<float>{8, 8, 8}));
}

// All parts take their memory from the system.
TEST_F(CpuParts, GiveBackWhatTheyHaveCachedBeforeAnotherFails) {
  constexpr std::int64_t numel = 1 << 20;
  ones({numel}, {.device = "cpu:0"}).wait();
  mark().wait();
  ASSERT_GT(memory_figures("cpu:0").cached_bytes, 0);
  detail::Allocator& allocator = detail::device_state("cpu:1").allocator;
  allocator.set_fault([](std::int64_t) { return memory_figures("cpu:0").cached_bytes > 0; });
  EXPECT_EQ(sum(ones({numel}, {.device = "cpu:1"})).item(), numel);
  allocator.set_fault(nullptr);
}

TEST_F(CpuParts, FailApart) {
  const Tensor rows = Tensor::from(std::vector<std::int64_t>{5}, {1});
  const Tensor bad = take(ones({2, 2}), rows), good = ones({2, 2}, {.device = "cpu:1"});
  const Tensor both = bad.to("cpu:1") + sum(good, 0, true);
  EXPECT_EQ(good.to_vector<float>(), std::vector<float>(4, 1));
  EXPECT_THAT(message_of([&] { both.wait(); }), HasSubstr("[take]"));
  recover();
}

}  // namespace
}  // namespace asyncgrad::tests
