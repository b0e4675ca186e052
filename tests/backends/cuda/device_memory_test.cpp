// Values in a GPU's memory, shared with others.
#include "asyncgrad/core/device_memory.h"

#include <gtest/gtest.h>

#include "asyncgrad/asyncgrad.h"
#include "tests/backends/cuda/emulator/emulator.h"
#include "tests/backends/cuda/fake_gpus.h"
#include "tests/support/message_of.h"

namespace asyncgrad::tests {
namespace {

class CudaDeviceMemory : public testing::Test {
 protected:
  ~CudaDeviceMemory() override { recover(); }
  FakeGpus gpus_;
};

// The memory of a stand-in is the machine's.
TEST_F(CudaDeviceMemory, IsWhereTheValuesAre) {
  const Tensor x = full({1000}, 3, {.device = "cuda:1"});
  const Tensor y = exp(x).slice(10, 20) * 0 + x.slice(10, 20);
  auto* const data = static_cast<float*>(device_data(y));
  EXPECT_EQ(data[9], 3);
  data[9] = 5;
  EXPECT_EQ(y.to_vector<float>()[9], 5);
  EXPECT_TRUE(message_of([&] { host_data(y); }).find("the tensor is on cuda:1") != std::string::npos);
}

TEST_F(CudaDeviceMemory, IsCopied) {
  const Tensor x = full({300, 7}, 3, {.device = "cuda:0"}), y = zeros({300, 7}, {.device = "cuda:0"});
  copy_from_device_memory(y, device_data(x));
  EXPECT_EQ(y.to_vector<float>(), x.to_vector<float>());
  copy_from_device_memory(zeros({0}, {.device = "cuda:0"}), nullptr);
  EXPECT_EQ(message_of([&] { copy_from_device_memory(y, nullptr); }),
            "[copy_from_device_memory] the address of 2100 elements is null");
  const std::vector<float> values = {1, 2, 3};
  const Tensor on_cpu = zeros({3});
  copy_from_device_memory(on_cpu, values.data());
  EXPECT_EQ(on_cpu.to_vector<float>(), values);
}

TEST_F(CudaDeviceMemory, SynchronizingWaitsForWhatTheGpuWasGiven) {
  const Tensor x = full({100'000}, 3, {.device = "cuda:0"});
  for (int i = 0; i < 20; ++i) Tensor(x) += 1;
  x.wait();
  synchronize("cuda:0");
  synchronize("cpu");
  gpus_.api().fail("synchronize_device", 0, cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(message_of([] { synchronize("cuda:0"); }), "[device] cuda:0: status 900");
  EXPECT_EQ((x + 1).to_vector<float>()[0], 24);  // a refusal has no effect
  gpus_.api().fail("synchronize_device", 0, cudaErrorLaunchFailure);
  EXPECT_EQ(message_of([] { synchronize("cuda:0"); }), "[device] cuda:0: status 719");
  EXPECT_TRUE(message_of([&] { (x + 1).wait(); }).find("the device has failed") != std::string::npos);
}

TEST_F(CudaDeviceMemory, SynchronizingAllGpusPassesOverOneThatFailed) {
  ones({3}, {.device = "cuda:0"}).wait();
  detail::synchronize_gpus();
  EXPECT_EQ(gpus_.api().calls()["synchronize_device"], 1);  // the other one is not in use
  ones({3}, {.device = "cuda:1"}).wait();
  gpus_.api().fail("synchronize_device", 0, cudaErrorLaunchFailure);
  detail::synchronize_gpus();
  EXPECT_EQ(gpus_.api().calls()["synchronize_device"], 3);
}

// Reads one element of a tensor, or the one beyond its end, in a kernel.
float read_there(const Tensor& x, std::int64_t i) {
  const auto* const data = static_cast<const float*>(device_data(x));
  float value = 0;
  emulator::launch("a read", 1, 1, nullptr, [&] { value = *static_cast<const volatile float*>(data + i); });
  return value;
}

TEST(CudaValuesAtPageEnds, LetNothingBeReadBeyondThem) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  FakeGpus gpus({.gpus = 1, .values_at_page_ends = true});
  for (const std::int64_t count : {1, 16, 17, 1000, 100'000}) {
    const Tensor x = full({count}, 3, {.device = "cuda:0"}), y = x + x;
    EXPECT_EQ(y.to_vector<float>(), std::vector<float>(static_cast<std::size_t>(count), 6));
    EXPECT_EQ(read_there(y, count - 1), 6);
    if (count < 1000) {
      EXPECT_DEATH(read_there(y, count), "");
    }
  }
  // What goes back is found again.
  const std::int64_t used = gpus.api().used_bytes(0), live = memory_figures("cuda:0").live_bytes;
  for (int i = 0; i < 20; ++i) full({17}, i, {.device = "cuda:0"}).wait();
  wait_all();
  EXPECT_LE(gpus.api().used_bytes(0), used + (2 << 16));
  EXPECT_EQ(memory_figures("cuda:0").live_bytes, live);
}

}  // namespace
}  // namespace asyncgrad::tests
