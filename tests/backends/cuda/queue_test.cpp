// The queues of GPUs, on made-up calls, with the CPU's kernels.
#include "asyncgrad/backends/cuda/queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <thread>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/core/engine/engine.h"
#include "tests/backends/cuda/fake_gpus.h"
#include "tests/support/message_of.h"

namespace asyncgrad::tests {
namespace {

using testing::HasSubstr;

constexpr std::int64_t piece = detail::cuda::Staging::piece_bytes / 4;  // in elements

std::vector<float> numbers(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

class CudaQueue : public testing::Test {
 protected:
  int calls(const char* function) { return gpus_.api().calls()[function]; }
  FakeGpus gpus_;
};

TEST_F(CudaQueue, ComputesOnTwoDevices) {
  const Tensor x = full({3}, 2, {.device = "cuda:0"});
  EXPECT_EQ((x * x + 1.0).to("cuda:1").to_vector<float>(), (std::vector<float>{5, 5, 5}));
  EXPECT_EQ(calls("copy_peer_async"), 1);
  EXPECT_EQ(message_of([] { ones({3}, {.device = "cuda:2"}); }),
            "[device] there is no cuda:2 here: the number of GPUs is 2");
}

// To the host and from it in pieces, whatever their number, through all ways.
TEST_F(CudaQueue, CopiesOfAnySizeHaveTheirBits) {
  for (const std::int64_t count :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{17}, piece - 1, piece, piece + 1, 2 * piece, 3 * piece + 5}) {
    const std::vector<float> values = numbers(count);
    const Tensor there = Tensor::from(values, {count}, "cuda:0");
    EXPECT_EQ(there.to_vector<float>(), values) << count;
    EXPECT_EQ(there.clone().to("cuda:1").to_vector<float>(), values) << count;
  }
}

TEST_F(CudaQueue, ViewsAreCopiedFromWhereTheyBegin) {
  const Tensor x = Tensor::from(numbers(3 * piece), {3, piece}, "cuda:0");
  EXPECT_EQ(x.slice(1, 3).to("cpu").reshape({2 * piece}).to_vector<float>().front(), static_cast<float>(piece + 1));
  Tensor y = zeros({3, piece}, {.device = "cuda:0"});
  y.slice(2, 3).copy_(x.slice(0, 1));
  const std::vector<float> values = y.to_vector<float>();
  EXPECT_EQ(values[static_cast<std::size_t>(2 * piece) - 1], 0);
  EXPECT_EQ(values[static_cast<std::size_t>(2 * piece)], 1);
}

// Each piece waits for the buffer, and no copy for another one's pieces: all are there at once.
TEST_F(CudaQueue, ManyCopiesShareTwoBuffers) {
  std::vector<Tensor> there;
  for (int i = 0; i < 20; ++i) there.push_back(full({piece / 2 + i}, i).to("cuda:0"));
  std::vector<Tensor> back;
  for (Tensor& tensor : there) back.push_back((tensor += 1.0).to("cpu"));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(back[static_cast<std::size_t>(i)].to_vector<float>(),
              std::vector<float>(static_cast<std::size_t>(piece / 2 + i), static_cast<float>(i + 1)));
  }
  EXPECT_EQ(calls("allocate_host"), 4);  // two for each direction
}

// Kernels may still use the memory that the copy gets, so the device's part of the copy waits. The host's part does
// not.
TEST_F(CudaQueue, CopiesAreStagedWhileTheDeviceComputes) {
  const Tensor x = full({1000}, 1, {.device = "cuda:0"}), host = full({1000}, 3);
  wait_all();
  const int launches = calls("launch");
  gpus_.api().hold_kernels(true);
  const Tensor y = x * 2.0;
  while (calls("launch") == launches) std::this_thread::yield();
  const Tensor there = host.to("cuda:0");
  while (gpus_.api().host_functions() == 0) std::this_thread::yield();
  gpus_.api().hold_kernels(false);
  EXPECT_EQ((y + there).to_vector<float>(), std::vector<float>(1000, 5));
}

// What the device computes has been issued, and so has left the queue of its thread.
TEST_F(CudaQueue, AWaitForTheDeviceWaitsForWhatItComputes) {
  const Tensor x = full({1000}, 1, {.device = "cuda:0"});
  wait_all();
  const int launches = calls("launch");
  gpus_.api().hold_kernels(true);
  const Tensor y = x * 2.0;
  while (calls("launch") == launches) std::this_thread::yield();
  std::atomic<bool> has_waited{false};
  std::thread waiting([&] {
    wait_all("cuda:0");
    has_waited = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(has_waited);
  EXPECT_FALSE(y.is_ready());
  gpus_.api().hold_kernels(false);
  waiting.join();
  EXPECT_TRUE(y.is_ready());
}

// A copy by the host for one queue waits for its copy for another queue, with only events between them.
TEST_F(CudaQueue, CopiesToTheHostAndBackFollowEachOther) {
  Tensor x = full({1000}, 1, {.device = "cuda:0"});
  for (int i = 0; i < 50; ++i) x = (x + 1.0).to("cpu").to("cuda:0");
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(1000, 51));
}

TEST_F(CudaQueue, TypesChangeWhereTheyAre) {
  const Tensor x = full({3}, 2.5, {.device = "cuda:0"});
  EXPECT_EQ(x.to(DType::float64).to_vector<double>(), (std::vector<double>{2.5, 2.5, 2.5}));
  const Tensor other = zeros({3}, {.dtype = DType::float64});
  detail::submit(detail::Op::copy, {detail::writes(other), detail::reads(x)}, detail::NoAttributes{}, {});
  EXPECT_THAT(message_of([&] { other.wait(); }),
              HasSubstr("[copy] float32 on cuda:0 becomes float64 on cpu: one copy changes either"));
}

TEST_F(CudaQueue, ARefusedLaunchPoisonsItsResultAlone) {
  Tensor x = full({10}, 1, {.device = "cuda:0"});
  x.wait();
  gpus_.api().fail("launch", 0, cudaErrorInvalidConfiguration);
  x += 1.0;
  EXPECT_THAT(message_of([&] { x.wait(); }), HasSubstr("[add] status 9"));
  recover();
  EXPECT_EQ((x + x).to_vector<float>(), std::vector<float>(10, 2));
}

// A GPU may be newer than what a build has kernels for.
TEST_F(CudaQueue, AKernelThatIsNotThereForTheGpuSaysWhatToDo) {
  const Tensor x = full({3}, 2, {.device = "cuda:0"});
  x.wait();
  for (const auto& [status, what] :
       {std::pair(cudaErrorNoKernelImageForDevice,
                  "status 209; if this build has no kernels for compute capability 7.5, configure it with "
                  "-DCMAKE_CUDA_ARCHITECTURES=75 and a CUDA Toolkit that has them"),
        std::pair(cudaErrorUnsupportedPtxVersion,
                  "status 222; the driver compiles this build's kernels for compute capability 7.5: install a newer "
                  "driver, or configure it with -DCMAKE_CUDA_ARCHITECTURES=75")}) {
    gpus_.api().fail("launch", 0, status);
    const Tensor y = x * x;
    EXPECT_THAT(message_of([&] { y.wait(); }), HasSubstr(std::string("[multiply] ") + what));
    EXPECT_EQ(x.to_vector<float>(), std::vector<float>(3, 2));  // the device goes on
    recover();
  }
}

// While a profile is recorded, and until the next operation after it.
TEST_F(CudaQueue, TakesTimesForProfilesAlone) {
  Tensor x = full({10}, 1, {.device = "cuda:0"});
  x.wait();
  EXPECT_EQ(gpus_.api().timing_events(), 0U);
  profiler::start();
  for (int i = 0; i < 10; ++i) x = x + 1.0;
  const profiler::Summary summary = profiler::stop();
  ASSERT_EQ(summary.operations.size(), 1U);
  EXPECT_EQ(summary.operations[0].count, 10);
  EXPECT_EQ(summary.operations[0].total_s, summary.devices_s);
  EXPECT_LE(summary.devices_s, summary.elapsed_s);
  EXPECT_GE(gpus_.api().timing_events(), 3U);
  (x + 1.0).wait();
  EXPECT_EQ(gpus_.api().timing_events(), 0U);
}

TEST_F(CudaQueue, ALaunchThatFailsEndsTheDeviceAlone) {
  const Tensor x = full({10}, 1, {.device = "cuda:0"}), other = full({10}, 1, {.device = "cuda:1"});
  wait_all();
  gpus_.api().fail("query_event", 0, cudaErrorIllegalAddress);
  const Tensor y = x + 1.0;
  for (const Tensor& tensor : {y, x * 2.0}) {
    EXPECT_THAT(message_of([&] { tensor.wait(); }),
                HasSubstr("[cuda:0] the device has failed and does nothing more until the process starts anew: status "
                          "700"));
  }
  EXPECT_EQ((other + 1.0).to_vector<float>(), std::vector<float>(10, 2));
  recover();
}

TEST(CudaQueues, GiveBackWhatIsCachedThenFail) {
  FakeGpus gpus({.memory_bytes = std::int64_t{8} << 20});
  constexpr std::int64_t mebi = (std::int64_t{1} << 20) / 4;  // in elements
  { ones({6 * mebi}, {.device = "cuda:0"}).wait(); }
  for (int i = 0; i < 5; ++i) {
    const Tensor x = full({3 * mebi}, i, {.device = "cuda:0"}), y = full({4 * mebi}, i, {.device = "cuda:0"});
    EXPECT_EQ(x.to_vector<float>(), std::vector<float>(3 * mebi, static_cast<float>(i)));
    EXPECT_EQ(y.to_vector<float>(), std::vector<float>(4 * mebi, static_cast<float>(i)));
  }
  const Tensor kept = ones({4 * mebi}, {.device = "cuda:0"}), large = ones({16 * mebi}, {.device = "cuda:0"});
  EXPECT_THAT(message_of([&] { large.wait(); }), HasSubstr("out of memory: 16777216 bytes were asked for"));
  EXPECT_EQ(kept.to_vector<float>(), std::vector<float>(4 * mebi, 1));
  recover();
}

// Whatever is made, used and ended on others.
TEST(CudaQueues, LeaveTheCallersDevice) {
  FakeGpus gpus;
  ASSERT_EQ(gpus.api().set_device(0), cudaSuccess);
  const Tensor x = full({piece}, 1, {.device = "cuda:1"});
  EXPECT_EQ((x + 1.0).to("cuda:0").to_vector<float>().back(), 2);
  trim_cache("cuda:1");
  set_engine_options({});
  EXPECT_EQ((x + x).to_vector<float>().back(), 2);
  gpus.end();
  EXPECT_EQ(FakeApi::device_of_this_thread(), 0);
}

// The memory that products keep for a queue is freed with the queue.
TEST(CudaQueues, OwnWhatTheirKernelsKeep) {
  static std::weak_ptr<int> kept;
  FakeApi api;
  detail::cuda::Gpu gpu(api, 1);
  auto queue = detail::cuda::make_queue(gpu, detail::compute_queue);
  const detail::Kernel kernel{.run = [](const detail::KernelCall& call, int) {
    const auto made = std::make_shared<int>();
    kept = made;
    static_cast<const detail::cuda::Launch*>(call.launch)->planner = {made, nullptr};
  }};
  queue->issue("product", kernel, {});
  EXPECT_FALSE(kept.expired());
  queue.reset();
  EXPECT_TRUE(kept.expired());
}

TEST(CudaQueues, EndWithNothingLeft) {
  FakeGpus gpus;
  (ones({piece}, {.device = "cuda:0"}) + 1.0).to("cuda:1").to_vector<float>();
  EXPECT_GT(gpus.api().objects(), 0U);
  EXPECT_EQ(gpus.api().pinned_blocks(), 8U);
  gpus.end();
  EXPECT_EQ(gpus.api().objects(), 0U);
  EXPECT_EQ(gpus.api().pinned_blocks(), 0U);
}

}  // namespace
}  // namespace asyncgrad::tests
