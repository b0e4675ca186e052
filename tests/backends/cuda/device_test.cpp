// Compares every operation on a GPU, a real or an emulated one, with the CPU, through public calls.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "asyncgrad/asyncgrad.h"
#include "tests/backends/cuda/cuda_backend.h"
#include "tests/backends/cuda/device_cases.h"
#include "tests/backends/cuda/first_gpu.h"
#include "tests/backends/cuda/training.h"
#include "tests/support/sanitizer.h"

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

// A network that diverges must show it, whatever computes its relu.
using CudaDenseOnDevice = OnFirstGpu;
TEST_F(CudaDenseOnDevice, ReluKeepsNotANumber) {
  const Tensor x = full({8, 8}, std::nan(""), {.device = "cuda"}), w = ones({8, 8}, {.device = "cuda"});
  for (const double y : dense(x, w, zeros({8}, {.device = "cuda"}), relu).to(Device()).to_vector<float>()) {
    EXPECT_TRUE(std::isnan(y));
  }
}

// What a kernel reads or writes beyond a value ends the process.
class CudaDevice : public OnFirstGpu, public testing::WithParamInterface<std::tuple<DType, std::size_t>> {
 protected:
  CudaDevice() : OnFirstGpu(/*values_at_page_ends=*/true) {}
};

std::vector<double> values_of(const Tensor& x) { return to(to(x, float64), Device()).to_vector<double>(); }

TEST_P(CudaDevice, ComputesWhatTheCpuDoes) {
  const auto [dtype, index] = GetParam();
  const DeviceCase& c = device_cases()[index];
  if (c.is_large && is_sanitized && (looks_for_races || dtype == float64)) GTEST_SKIP() << "it takes too long";
  Inputs on_cpu(DeviceType::cpu, dtype), on_device("cuda", dtype), again("cuda", dtype);
  const Results expected = c.run(on_cpu), results = c.run(on_device);
  const Results repeated = is_sanitized ? results : c.run(again);  // bits do not depend on the sanitizer
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
                         testing::Combine(testing::ValuesIn(looks_for_races ? std::vector{float32}
                                                                            : std::vector{float32, float64}),
                                          testing::Range(std::size_t{0}, device_cases().size())),
                         [](const auto& info) {
                           return fmt::format("{}_{}", device_cases()[std::get<1>(info.param)].name,
                                              name(std::get<0>(info.param)));
                         });

using CudaLaunchGraph = OnFirstGpu;
TEST_F(CudaLaunchGraph, TrainsToTheSameBits) {
  const TrainingSizes sizes{.batch = 32, .inputs = 64, .hidden = 96, .steps = 50};
  const std::vector<float> without = train(nullptr, false, sizes);
  for (const bool has_barrier : {false, true}) {
    LaunchGraph step("training step");
    EXPECT_EQ(train(&step, has_barrier, sizes), without);
    EXPECT_GT(step.replays(), 0);
  }
}

class CudaDeviceInGraphs : public OnFirstGpu, public testing::WithParamInterface<std::size_t> {};

TEST_P(CudaDeviceInGraphs, HasTheSameBits) {
  const DeviceCase& c = device_cases()[GetParam()];
  if (c.is_large) GTEST_SKIP() << "it takes too long, and its launches are those of others";
  LaunchGraph graph(c.name);
  Inputs first("cuda", float32);
  const Results expected = c.run(first);
  for (int call = 0; call < 4; ++call) {
    Inputs in("cuda", float32);
    const Results results = graph([&] { return c.run(in); });
    for (std::size_t i = 0; i < results.size(); ++i) {
      detail::expect_same_bits(values_of(results[i]), values_of(expected[i]));
    }
  }
}

// For races the kernels are looked at above, and graphs in random programs.
INSTANTIATE_TEST_SUITE_P(All, CudaDeviceInGraphs,
                         testing::Range(std::size_t{0}, looks_for_races ? 0 : device_cases().size()),
                         [](const auto& info) { return device_cases()[info.param].name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CudaDeviceInGraphs);

}  // namespace

}  // namespace asyncgrad::tests
