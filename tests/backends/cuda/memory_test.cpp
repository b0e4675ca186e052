// A GPU's memory, on made-up calls.
#include "asyncgrad/backends/cuda/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "asyncgrad/backends/cuda/found_gpus.h"
#include "asyncgrad/core/backend/device_queue.h"
#include "tests/backends/cuda/fake_api.h"
#include "tests/support/message_of.h"

namespace asyncgrad::tests {
namespace {

using detail::DeviceFailed;
using detail::cuda::Gpu;
using detail::cuda::Memory;

constexpr std::int64_t page = 1 << 16;

class CudaMemory : public testing::Test {
 protected:
  FakeApi api_{{.memory_bytes = 8 * page}};
  Gpu gpu_{api_, 1};
  Memory memory_{gpu_};
};

TEST_F(CudaMemory, IsThereWhereItIsPut) {
  ASSERT_EQ(memory_.page_bytes(), page);
  std::byte* const begin = memory_.reserve(8 * page);
  ASSERT_TRUE(memory_.back(begin + page, 3 * page));
  EXPECT_EQ(api_.used_bytes(1), 3 * page);
  EXPECT_EQ(api_.used_bytes(0), 0);
  std::fill(begin + page, begin + 4 * page, std::byte{7});
  EXPECT_EQ(begin[4 * page - 1], std::byte{7});
  EXPECT_EQ(api_.objects(), 0U);
}

// Memory that was taken at once may be given back in parts, and the other way round.
TEST_F(CudaMemory, GoesBackInAnyPieces) {
  std::byte* const begin = memory_.reserve(8 * page);
  ASSERT_TRUE(memory_.back(begin, 3 * page));
  ASSERT_TRUE(memory_.back(begin + 3 * page, 3 * page));
  memory_.unback(begin + 2 * page, 2 * page);
  EXPECT_EQ(api_.used_bytes(1), 4 * page);
  begin[2 * page - 1] = begin[4 * page] = std::byte{1};
  ASSERT_TRUE(memory_.back(begin + 2 * page, page));
  memory_.unback(begin, 3 * page);
  memory_.unback(begin + 4 * page, 2 * page);
  EXPECT_EQ(api_.used_bytes(1), 0);
}

TEST_F(CudaMemory, TellsThatThereIsNoneAndKeepsNothing) {
  std::byte* const begin = memory_.reserve(16 * page);
  ASSERT_TRUE(memory_.back(begin, 4 * page));
  EXPECT_FALSE(memory_.back(begin + 4 * page, 4 * page)) << "of the last one the driver has a part";
  EXPECT_EQ(api_.used_bytes(1), 4 * page);
  EXPECT_TRUE(memory_.back(begin + 4 * page, 3 * page));
  api_.fail("reserve_addresses", 0, cudaErrorMemoryAllocation);
  EXPECT_EQ(memory_.reserve(page), nullptr);
  EXPECT_NE(memory_.reserve(page), nullptr);
}

// A call that fails, for the first page or one after it. What can be undone is undone, but a device that has failed
// keeps the pages that it has.
struct Fault {
  const char* function;
  int index;
  std::int64_t kept_pages;
};
class CudaMemoryFaults : public testing::TestWithParam<Fault> {};

TEST_P(CudaMemoryFaults, EndTheDevice) {
  FakeApi api;
  Gpu gpu(api, 1);
  Memory memory(gpu);
  api.fail(GetParam().function, GetParam().index, cudaErrorIllegalAddress);
  std::string message;
  try {
    std::byte* const begin = memory.reserve(2 * page);
    EXPECT_TRUE(memory.back(begin, 2 * page));
    memory.unback(begin, page);
    memory.unback(begin + page, page);
    memory.back(begin, page);
  } catch (const DeviceFailed& error) {
    message = error.what();
  }
  EXPECT_EQ(message, "status 700");
  EXPECT_EQ(api.objects(), 0U);
  EXPECT_EQ(api.used_bytes(1), GetParam().kept_pages * page);
}

INSTANTIATE_TEST_SUITE_P(Of, CudaMemoryFaults,
                         testing::Values(Fault{"reserve_addresses", 0, 0}, Fault{"create_memory", 0, 0},
                                         Fault{"create_memory", 1, 0}, Fault{"map", 0, 0}, Fault{"map", 1, 0},
                                         Fault{"release_memory", 0, 2}, Fault{"release_memory", 1, 2},
                                         Fault{"set_access", 0, 0}, Fault{"unmap", 0, 2}, Fault{"unmap", 1, 1}),
                         [](const auto& info) {
                           return std::string(info.param.function) + std::to_string(info.param.index);
                         });

TEST(CudaDevices, AreThoseThatTheMachineHas) {
  FakeApi api({.gpus = 2});
  EXPECT_EQ(message_of([&] { Gpu(api, 2); }), "[device] there is no cuda:2 here: the number of GPUs is 2");
  api.fail("get_device_count", 0, cudaErrorNoDevice);
  EXPECT_EQ(message_of([&] { Gpu(api, 0); }), "[device] there is no cuda:0 here: status 100");
  api.fail("get_device_count", 0, cudaErrorInsufficientDriver);
  EXPECT_EQ(message_of([&] { Gpu(api, 0); }),
            "[device] there is no cuda:0 here: there is no driver for NVIDIA's GPUs here, or it is too old");
  FakeApi none({.gpus = 0});
  EXPECT_EQ(message_of([&] { Gpu(none, 0); }), "[device] there is no cuda:0 here: there is no GPU here");
  FakeApi volta({.capability = 70}), pascal({.capability = 61});
  EXPECT_EQ(
      message_of([&] { Gpu(volta, 0); }),
      "[device] cuda:0 has compute capability 7.0, and this build has kernels for 7.5 and later ones; configure it "
      "with -DCMAKE_CUDA_ARCHITECTURES=70 and a CUDA Toolkit that has them");
  EXPECT_EQ(
      message_of([&] { Gpu(pascal, 0); }),
      "[device] cuda:0 has compute capability 6.1, and this build has kernels for 7.5 and later ones; GPUs before "
      "7.0 cannot run them");
  api.fail("get_device_properties", 0, cudaErrorNotSupported);
  EXPECT_EQ(message_of([&] { Gpu(api, 0); }), "[device] cuda:0 does not come into use: status 801");
  Gpu gpu(api, 1);
  for (const char* function : {"get_granularity", "can_access_peer"}) {
    api.fail(function, 0, cudaErrorNotSupported);
    EXPECT_EQ(message_of([&] { Memory memory(gpu); }), "[device] cuda:1 does not come into use: status 801");
  }
}

TEST(CudaDevices, AreFoundWithoutComingIntoUse) {
  FakeApi api({.gpus = 2, .memory_bytes = 123 << 20, .capability = 90}), volta({.capability = 70});
  std::string why_none;
  const std::vector<DeviceDescription> found = detail::cuda::found_gpus(api, why_none);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].device, Device("cuda:1"));
  EXPECT_EQ(found[1].name, "a GPU that a test made up");
  EXPECT_EQ(found[1].memory_bytes, 123 << 20);
  EXPECT_EQ(found[1].capability, 90);
  EXPECT_FALSE(api.calls().contains("set_device"));
  EXPECT_TRUE(detail::cuda::found_gpus(volta, why_none).empty());
  EXPECT_TRUE(why_none.starts_with("cuda:0 has compute capability 7.0"));
  api.fail("get_device_count", 0, cudaErrorNoDevice);
  EXPECT_TRUE(detail::cuda::found_gpus(api, why_none).empty());
  EXPECT_EQ(why_none, "status 100");
  api.fail("get_device_count", 0, cudaErrorInsufficientDriver);
  detail::cuda::found_gpus(api, why_none);
  EXPECT_EQ(why_none, "there is no driver for NVIDIA's GPUs here, or it is too old");
}

TEST(CudaDevices, SayWhatIsFree) {
  FakeApi api({.memory_bytes = 64 << 20});
  Gpu gpu(api, 0);
  EXPECT_EQ(gpu.free_bytes(), 64 << 20);
  api.fail("get_memory_info", 0, cudaErrorInitializationError);
  EXPECT_EQ(message_of([&] { gpu.free_bytes(); }), "[device] cuda:0 does not come into use: status 3");
}

}  // namespace
}  // namespace asyncgrad::tests
