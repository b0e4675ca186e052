// Every call of CUDA and cuBLASLt fails, one at a time. The operation that it was for reports it, nothing hangs, and nothing is left
// behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "asyncgrad/asyncgrad.h"
#include "tests/backends/cuda/copy_between_devices.h"
#include "tests/backends/cuda/emulator/cublaslt.h"
#include "tests/backends/cuda/fake_gpus.h"
#include "tests/support/message_of.h"

namespace asyncgrad::tests {
namespace {

using testing::HasSubstr;

constexpr std::int64_t count = (std::int64_t{5} << 20) / 4;  // of elements: two pieces of a copy to or from the host

std::vector<float> use_devices() { return copy_between_devices(count); }

class CudaFaults : public testing::TestWithParam<cudaError_t> {
 protected:
  static std::map<std::string, int> calls() {
    FakeGpus gpus({.max_delay_us = 0});
    EXPECT_EQ(use_devices(), std::vector<float>(count, 8));
    return gpus.api().calls();
  }
};

TEST_P(CudaFaults, AreReportedAndLeaveNothing) {
  for (const auto& [function, number] : calls()) {
    for (int index = 0; index < std::min(number, max_tries); ++index) {
      for (const bool is_lasting : {false, true}) {
        SCOPED_TRACE(testing::Message() << function << " " << index << (is_lasting ? " and all after it" : ""));
        FakeGpus gpus({.max_delay_us = 0});
        gpus.api().fail(function, index, GetParam(), is_lasting);
        const std::string message = message_of(use_devices);
        if (gpus.api().has_failed()) {
          EXPECT_THAT(message, HasSubstr("status " + std::to_string(GetParam())));
        }
        recover();
        EXPECT_EQ((ones({10}) + 1.0).to_vector<float>(), std::vector<float>(10, 2));
        gpus.end();
        EXPECT_EQ(gpus.api().objects(), 0U);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(With, CudaFaults, testing::Values(cudaErrorIllegalAddress, cudaErrorInvalidValue));

TEST(CudaFaultsOfProfiles, EndTheDevice) {
  for (const char* function : {"create_timing_event", "get_elapsed_time"}) {
    for (int index = 0; index < 4; ++index) {
      SCOPED_TRACE(testing::Message() << function << " " << index);
      FakeGpus gpus({.max_delay_us = 0});
      gpus.api().fail(function, index, cudaErrorIllegalAddress);
      profiler::start();
      const std::string message = message_of(use_devices);
      profiler::stop();
      EXPECT_TRUE(gpus.api().has_failed());
      EXPECT_THAT(message, HasSubstr("status 700"));
      recover();
      gpus.end();
      EXPECT_EQ(gpus.api().objects(), 0U);
    }
  }
}

// Memory that is missing at first may be there once the device has finished its work.
TEST(CudaFaultsOfMemory, AreTriedAgain) {
  for (int index = 0; index < max_tries; ++index) {
    FakeGpus gpus({.max_delay_us = 0});
    gpus.api().fail("create_memory", index, cudaErrorMemoryAllocation);
    EXPECT_EQ(use_devices(), std::vector<float>(count, 8));
    EXPECT_TRUE(gpus.api().has_failed());
  }
}

std::vector<float> multiply_there() {
  const Tensor x = ones({4, 4}, {.device = "cuda:0"});
  return matmul(x, x).to_vector<float>();
}

TEST(CudaFaultsOfProducts, AreReportedAndLeaveNothing) {
  const std::vector<float> expected(16, 4);
  const int objects = emulator::cublaslt_objects();
  emulator::set_faults({});
  {
    const FakeGpus gpus({.max_delay_us = 0});
    EXPECT_EQ(multiply_there(), expected);
  }
  for (const auto& [function, number] : emulator::cublaslt_calls()) {
    if (function.starts_with("destroy")) continue;
    for (int index = 0; index < number; ++index) {
      SCOPED_TRACE(testing::Message() << function << " " << index);
      FakeGpus gpus({.max_delay_us = 0});
      emulator::set_faults({.function = function, .index = index});
      EXPECT_THAT(message_of([] { multiply_there(); }),
                  HasSubstr("[matmul] cuBLASLt answers CUBLAS_STATUS_INTERNAL_ERROR"));
      recover();
      EXPECT_EQ(multiply_there(), expected);
      gpus.end();
      EXPECT_EQ(emulator::cublaslt_objects(), objects);
    }
  }
  emulator::set_faults({});
}

}  // namespace
}  // namespace asyncgrad::tests
