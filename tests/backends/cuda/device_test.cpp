// Compares every operation on a device with the CPU, through public calls. The tests are skipped where there is no
// device.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/backends/cuda/api.h"
#include "asyncgrad/backends/cuda/kernels/product.h"
#include "asyncgrad/backends/cuda/launch.h"
#include "tests/backends/cuda/both_backends.h"
#include "tests/backends/cuda/device_cases.h"
#include "tests/backends/cuda/training.h"

namespace asyncgrad::tests {

namespace {

TEST(CudaDeviceCases, HaveEveryOperation) {
  std::set<detail::Op> ops{detail::Op::elementwise};
  for (const DeviceCase& c : device_cases()) ops.insert(c.ops.begin(), c.ops.end());
  // These have no kernel for GPUs, or the program brings their kernel along.
  std::set<detail::Op> left_out{detail::Op::source, detail::Op::custom};
  for (int op = 0; op < detail::op_count; ++op) {
    if (op == static_cast<int>(detail::Op::elementwise)) continue;
    if (detail::cuda_backend().kernels[static_cast<std::size_t>(op)].run == nullptr) {
      left_out.insert(static_cast<detail::Op>(op));
    }
  }
  for (const detail::Op op : left_out) EXPECT_FALSE(ops.contains(op));
  EXPECT_EQ(ops.size() + left_out.size(), static_cast<std::size_t>(detail::op_count));
}

// Why there is no device; empty if there is one.
std::string no_device() {
  int count = 0;
  const cudaError_t status = detail::cuda::cuda_api().get_device_count(&count);
  if (status != cudaSuccess) return cudaGetErrorString(status);
  return count > 0 ? "" : "there is no GPU here";
}

// A network that diverges must show it, whatever computes its relu.
TEST(CudaDense, ReluKeepsNotANumber) {
  if (!no_device().empty()) GTEST_SKIP() << no_device();
  const Tensor x = full({8, 8}, std::nan(""), {.device = "cuda"}), w = ones({8, 8}, {.device = "cuda"});
  for (const double y : dense(x, w, zeros({8}, {.device = "cuda"}), relu).to(Device()).to_vector<float>()) {
    EXPECT_TRUE(std::isnan(y));
  }
}

TEST(CudaProducts, WithoutADeviceSayWhatFailed) {
  if (no_device().empty()) GTEST_SKIP() << "there is a device";
  const detail::Array out({2, 5}, float32), x({2, 3}, float32), w({3, 5}, float32);
  const std::vector<detail::View> operands{detail::written(out), detail::read(x), detail::read(w)};
  const detail::MatmulAttributes attributes;
  std::shared_ptr<detail::cuda::Planner> planner;
  const detail::cuda::Launch launch{nullptr, nullptr, planner};
  const detail::KernelCall call{operands.data(), 3, &attributes, nullptr, &launch};
  EXPECT_THAT(
      [&] { detail::cuda::multiply(call, detail::cuda::matmul_product(call), "matmul"); },
      testing::ThrowsMessage<Error>(testing::AllOf(testing::StartsWith("[matmul] cuBLASLt answers CUBLAS_STATUS_"),
                                                   testing::HasSubstr("x (2, 3), w (3, 5)"))));
}

class CudaDevice : public testing::TestWithParam<std::tuple<DType, std::size_t>> {
 protected:
  void SetUp() override {
    static const std::string reason = no_device();
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
};

std::vector<double> values_of(const Tensor& x) { return to(to(x, float64), Device()).to_vector<double>(); }

TEST_P(CudaDevice, ComputesWhatTheCpuDoes) {
  const auto [dtype, index] = GetParam();
  const DeviceCase& c = device_cases()[index];
  Inputs on_cpu(DeviceType::cpu, dtype), on_device("cuda", dtype), again("cuda", dtype);
  const Results expected = c.run(on_cpu), results = c.run(on_device), repeated = c.run(again);
  ASSERT_EQ(results.size(), expected.size());
  const double tolerance = dtype == float32 ? c.tolerance : c.tolerance * c.tolerance;
  for (std::size_t i = 0; i < results.size(); ++i) {
    SCOPED_TRACE(fmt::format("result {}", i));
    ASSERT_EQ(results[i].device(), Device("cuda"));
    ASSERT_EQ(results[i].shape(), expected[i].shape());
    const std::vector<double> x = values_of(results[i]), y = values_of(expected[i]);
    for (std::size_t j = 0; j < x.size(); ++j) {
      ASSERT_NEAR(x[j], y[j], tolerance * std::max(1.0, std::abs(y[j]))) << "at " << j;
    }
    detail::expect_same_bits(values_of(repeated[i]), x);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CudaDevice,
                         testing::Combine(testing::Values(float32, float64),
                                          testing::Range(std::size_t{0}, device_cases().size())),
                         [](const auto& info) {
                           return fmt::format("{}_{}", device_cases()[std::get<1>(info.param)].name,
                                              name(std::get<0>(info.param)));
                         });

TEST(CudaLaunchGraph, TrainsToTheSameBits) {
  if (!no_device().empty()) GTEST_SKIP() << no_device();
  const TrainingSizes sizes{.batch = 32, .inputs = 64, .hidden = 96, .steps = 50};
  const std::vector<float> without = train(nullptr, false, sizes);
  for (const bool has_barrier : {false, true}) {
    LaunchGraph step("training step");
    EXPECT_EQ(train(&step, has_barrier, sizes), without);
    EXPECT_GT(step.replays(), 0);
  }
}

// Calls every operation in turn in a graph.
TEST(CudaLaunchGraph, HoldsEveryOperation) {
  if (!no_device().empty()) GTEST_SKIP() << no_device();
  for (const DeviceCase& c : device_cases()) {
    SCOPED_TRACE(c.name);
    LaunchGraph graph(c.name);
    Inputs first("cuda", float32);
    const Results expected = c.run(first);
    for (int call = 0; call < 5; ++call) {
      Inputs in("cuda", float32);
      const Results results = graph([&] { return c.run(in); });
      for (std::size_t i = 0; i < results.size(); ++i) {
        detail::expect_same_bits(values_of(results[i]), values_of(expected[i]));
      }
    }
  }
}

}  // namespace

}  // namespace asyncgrad::tests
