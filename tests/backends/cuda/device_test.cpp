// Every operation on a device against the CPU, through what users call. Skipped where there is no device.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/backends/cuda/api.h"
#include "asyncgrad/backends/cuda/launch.h"
#include "asyncgrad/backends/cuda/product.h"
#include "asyncgrad/core/backend/kernels.h"
#include "tests/backends/cpu/kernel_runner.h"
#include "tests/backends/cuda/training.h"

namespace asyncgrad {

namespace {

// Makes inputs, the same on every device.
class Inputs {
 public:
  Inputs(Device device, DType dtype) : device_(device), dtype_(dtype) {}

  Device device() const { return device_; }
  DType dtype() const { return dtype_; }
  Tensor operator()(const Shape& shape, double low = -3, double high = 3) {
    const auto values = detail::random_values<double>(shape.numel(), ++seed_, low, high);
    return to(Tensor::from(values, shape, device_), dtype_);
  }
  Tensor parameter(const Shape& shape, double low = -3, double high = 3) {
    return asyncgrad::parameter((*this)(shape, low, high));
  }
  Tensor integers(const Shape& shape, std::int64_t end) {
    std::vector<std::int64_t> values;
    for (const double x : detail::random_values<double>(shape.numel(), ++seed_, 0, static_cast<double>(end))) {
      values.push_back(static_cast<std::int64_t>(x));
    }
    return Tensor::from(values, shape, device_);
  }

 private:
  Device device_;
  DType dtype_;
  unsigned seed_ = 0;
};

using Results = std::vector<Tensor>;

// The results of a function, and the gradients that a made-up one of the first gives its parameters.
Results with_gradients(Inputs& in, const Tensor& y, const std::vector<Tensor>& parameters) {
  sum(y * in(y.shape())).backward();
  Results results{y};
  for (const Tensor& parameter : parameters) results.push_back(parameter.grad());
  return results;
}

struct Case {
  std::string name;
  std::vector<detail::Op> ops;  // that it runs, elementwise aside
  std::function<Results(Inputs&)> run;
  double tolerance = 1e-5;  // for float32, of numbers around 1; float64 has its square
};

Results one_input(Inputs& in, Tensor (*function)(const Arg&), double low = -3) {
  const Tensor x = in.parameter({37, 21}, low);
  return with_gradients(in, function(x), {x});
}
Results two_inputs(Inputs& in, Tensor (*function)(const Arg&, const Arg&), double low = -3) {
  const Tensor x = in.parameter({37, 21}, low), y = in.parameter({21}, low);
  return with_gradients(in, function(x, y), {x, y});
}
Results adam(Inputs& in) {
  const std::vector<Tensor> parameters = {in.parameter({300, 250}), in.parameter({7}), in.parameter({})};
  optim::Adam adam(parameters, {.lr = 0.1, .weight_decay = 0.1});
  for (int step = 0; step < 3; ++step) {
    adam.zero_grad();
    for (const Tensor& p : parameters) sum(square(p)).backward();
    adam.step();
  }
  return parameters;
}
Results sgd(Inputs& in) {
  const std::vector<Tensor> parameters = {in.parameter({300, 250}), in.parameter({7}), in.parameter({})};
  optim::SGD plain(parameters, {.lr = 0.1}), nesterov(parameters, {.lr = 0.1, .momentum = 0.9, .nesterov = true});
  for (int step = 0; step < 3; ++step) {
    plain.zero_grad();
    for (const Tensor& p : parameters) sum(square(p)).backward();
    plain.step();
    nesterov.step();
  }
  return parameters;
}
Results trained(optim::Optimizer& optimizer) {
  for (int step = 0; step < 3; ++step) {
    optimizer.zero_grad();
    for (const Tensor& p : optimizer.parameters()) sum(square(p)).backward();
    optimizer.step();
  }
  return optimizer.parameters();
}
Results adagrad(Inputs& in) {
  optim::Adagrad adagrad({in.parameter({300, 250}), in.parameter({7}), in.parameter({})}, {.weight_decay = 0.1});
  return trained(adagrad);
}
Results rmsprop(Inputs& in, double momentum, bool centered) {
  optim::RMSprop rmsprop({in.parameter({300, 250}), in.parameter({7}), in.parameter({})},
                         {.weight_decay = 0.1, .momentum = momentum, .centered = centered});
  return trained(rmsprop);
}
Results random(Inputs& in, Tensor (*draw)(const Shape&, double, double, RandomOptions, Location)) {
  Generator generator(7);
  return {draw({1001}, -1, 2, {in.dtype(), in.device(), &generator}, Location::current()),
          draw({70000}, 0, 1, {in.dtype(), in.device(), &generator}, Location::current())};
}
Results dense_layer(Inputs& in, Activation activation, std::int64_t n, std::int64_t inputs, std::int64_t outputs) {
  const Tensor x = in.parameter({n, inputs}), w = in.parameter({inputs, outputs}), bias = in.parameter({outputs});
  return with_gradients(in, dense(x, w, bias, activation), {x, w, bias});
}

const std::vector<Case>& cases() {
  using detail::Op;
  static const std::vector<Case> cases = {
      {"negate", {}, [](Inputs& in) { return one_input(in, operator-); }},
      {"relu", {}, [](Inputs& in) { return one_input(in, relu); }},
      {"sigmoid", {}, [](Inputs& in) { return one_input(in, sigmoid); }},
      {"tanh", {}, [](Inputs& in) { return one_input(in, tanh); }},
      {"exp", {}, [](Inputs& in) { return one_input(in, exp); }},
      {"log", {}, [](Inputs& in) { return one_input(in, log, 0.5); }},
      {"square", {}, [](Inputs& in) { return one_input(in, square); }},
      {"sqrt", {}, [](Inputs& in) { return one_input(in, sqrt, 0.5); }},
      {"abs", {}, [](Inputs& in) { return one_input(in, abs); }},
      {"add", {}, [](Inputs& in) { return two_inputs(in, operator+); }},
      {"subtract", {}, [](Inputs& in) { return two_inputs(in, operator-); }},
      {"multiply", {}, [](Inputs& in) { return two_inputs(in, operator*); }},
      {"divide", {}, [](Inputs& in) { return two_inputs(in, operator/, 0.5); }, 1e-4},
      {"pow", {}, [](Inputs& in) { return two_inputs(in, pow, 0.5); }, 1e-4},
      {"maximum", {}, [](Inputs& in) { return two_inputs(in, maximum); }},
      {"minimum", {}, [](Inputs& in) { return two_inputs(in, minimum); }},
      {"half_squared_error", {}, [](Inputs& in) { return two_inputs(in, half_squared_error); }},
      {"where",
       {},
       [](Inputs& in) {
         const Tensor x = in.parameter({37, 21}), y = in.parameter({37, 21});
         return with_gradients(in, where(less(x.detach(), y.detach()), x, y), {x, y});
       }},
      {"compare",
       {},
       [](Inputs& in) {
         const Tensor x = in({37, 21}), y = in({37, 1});
         return Results{equal(x, x), less(x, y), greater(x, 0.5), less(x, 2)};
       }},
      {"integers",
       {},
       [](Inputs& in) {
         const Tensor x = in.integers({300}, 50), y = in.integers({300}, 50);
         return Results{x + y, x * y - 3, maximum(x, y), equal(x, y), square(x), sum(x), max(x, 0)};
       }},
      {"fill",
       {Op::fill},
       [](Inputs& in) {
         return Results{full({1001}, 2, {in.dtype(), in.device()})};
       }},
      {"arange",
       {Op::arange},
       [](Inputs& in) {
         return Results{arange(0, 1001, 1, {in.dtype(), in.device()})};
       }},
      {"uniform", {Op::uniform}, [](Inputs& in) { return random(in, uniform); }},
      {"normal", {Op::normal}, [](Inputs& in) { return random(in, normal); }},
      {"copy",
       {Op::copy},
       [](Inputs& in) {
         const Tensor x = in({1001}, -100, 100);
         return Results{clone(x), to(x, int64), to(x, float32), to(x, float64), to(to(x, int64), in.dtype())};
       }},
      {"matmul_of_batches",
       {Op::matmul},
       [](Inputs& in) {
         const Tensor x = in.parameter({3, 1, 20, 30}), w = in.parameter({2, 30, 10});
         return with_gradients(in, matmul(x, w), {x, w});
       }},
      {"matmul",
       {Op::matmul},
       [](Inputs& in) {
         const Tensor x = in.parameter({65, 130}), w = in.parameter({130, 33});
         return with_gradients(in, matmul(x, w), {x, w});
       },
       1e-4},
      {"matmul_transposed",
       {Op::matmul},
       [](Inputs& in) {
         const Tensor x = in.parameter({130, 65}), w = in.parameter({33, 130});
         return with_gradients(in, matmul(x, w, {.transpose_x = true, .transpose_w = true}), {x, w});
       },
       1e-4},
      {"matmul_of_slices",
       {Op::matmul},
       [](Inputs& in) {  // that begin at no good place
         return Results{matmul(slice(in({65, 33}), 1, 64), slice(in({34, 7}), 1, 34))};
       },
       1e-4},
      {"matmul_of_nothing",
       {Op::matmul},
       [](Inputs& in) {
         return Results{matmul(in({3, 0}), in({0, 5}))};
       }},
      {"dense", {Op::dense, Op::dense_grad}, [](Inputs& in) { return dense_layer(in, nullptr, 64, 128, 96); }, 1e-4},
      {"dense_relu", {Op::dense, Op::dense_grad}, [](Inputs& in) { return dense_layer(in, relu, 64, 128, 96); }, 1e-4},
      {"dense_odd", {Op::dense, Op::dense_grad}, [](Inputs& in) { return dense_layer(in, relu, 33, 17, 1); }, 1e-4},
      {"sum",
       {Op::sum},
       [](Inputs& in) {
         const Tensor x = in({3, 1000, 70});
         return Results{sum(x), sum(x, 0), sum(x, 1), sum(x, 2), mean(x), sum(in({100000}))};
       },
       1e-4},
      {"max",
       {Op::max, Op::max_grad},
       [](Inputs& in) {
         const Tensor x = in.parameter({30, 2000});
         Results results = with_gradients(in, max(x, 1), {x});
         const Tensor across = in.parameter({300, 7});
         for (const Tensor& result : with_gradients(in, max(across, 0), {across})) results.push_back(result);
         return results;
       }},
      {"min",
       {Op::min, Op::max_grad},
       [](Inputs& in) {
         const Tensor x = in.parameter({30, 2000});
         return with_gradients(in, min(x, 1), {x});
       }},
      {"argmax_and_argmin",
       {Op::argmax, Op::argmin},
       [](Inputs& in) {
         const Tensor x = in({30, 2000});
         return Results{argmax(x, 0), argmax(x, 1), argmin(x, 0), argmin(x, 1)};
       }},
      {"softmax",
       {Op::softmax, Op::softmax_grad},
       [](Inputs& in) {
         const Tensor x = in.parameter({30, 200});
         return with_gradients(in, softmax(x), {x});
       }},
      {"softmax_across",
       {Op::softmax, Op::softmax_grad},
       [](Inputs& in) {
         const Tensor x = in.parameter({30, 7});
         return with_gradients(in, softmax(x, 0), {x});
       }},
      {"log_softmax",
       {Op::log_softmax, Op::log_softmax_grad},
       [](Inputs& in) {
         const Tensor x = in.parameter({3, 5000});
         return with_gradients(in, log_softmax(x), {x});
       },
       1e-4},
      {"cross_entropy",
       {Op::cross_entropy, Op::cross_entropy_grad},
       [](Inputs& in) {
         const Tensor x = in.parameter({30, 10});
         return with_gradients(in, cross_entropy(x, in.integers({30}, 10)), {x});
       }},
      {"strided_copy",
       {Op::strided_copy, Op::fill},
       [](Inputs& in) {
         const Tensor x = in.parameter({5, 70, 33});
         const Tensor parts = slice(x, 1, 3, 60, 2) + slice(flip(x, 2), 1, 0, 57, 2);
         Results results = with_gradients(in, parts, {x});
         for (const Tensor& y : {transpose(x), transpose(x, 0, 1), transpose(x, 0, 2), tile(x, {2, 1, 3}),
                                 expand(x, {2, 5, 70, 33}), pad(x, {{1, 1}, {0, 2}, {3, 0}}, 7)}) {
           results.push_back(y);
         }
         return results;
       }},
      {"concat",
       {Op::concat},
       [](Inputs& in) {
         const Tensor x = in.parameter({5, 70}), y = in.parameter({5, 3});
         return with_gradients(in, concat({x, y, x}, 1), {x, y});
       }},
      {"gather_and_scatter_add",
       {Op::gather, Op::scatter_add},
       [](Inputs& in) {
         const Tensor x = in.parameter({4, 20, 3}), indices = in.integers({4, 30, 3}, 20);
         const Tensor source = in.parameter({4, 30, 3});
         return with_gradients(in, gather(scatter_add(x, indices, source, 1), indices, 1), {x, source});
       }},
      {"one_hot", {Op::one_hot}, [](Inputs& in) { return Results{one_hot(in.integers({40}, 7), 7, in.dtype())}; }},
      {"triangle",
       {Op::triangle},
       [](Inputs& in) {
         const Tensor x = in.parameter({3, 40, 30});
         return with_gradients(in, tril(x) + triu(x, 2), {x});
       }},
      {"take",
       {Op::take, Op::take_grad},
       [](Inputs& in) {
         const Tensor x = in.parameter({20, 33});
         return with_gradients(in, take(x, in.integers({300}, 20)), {x});
       }},
      {"sgd", {Op::sgd}, sgd},
      {"adam", {Op::adam}, adam},
      {"adagrad", {Op::adagrad}, adagrad},
      {"rmsprop", {Op::rmsprop}, [](Inputs& in) { return rmsprop(in, 0, false); }},
      {"rmsprop_of_all", {Op::rmsprop}, [](Inputs& in) { return rmsprop(in, 0.9, true); }},
  };
  return cases;
}

TEST(CudaDeviceCases, HaveEveryOperation) {
  std::set<detail::Op> ops{detail::Op::elementwise};
  for (const Case& c : cases()) ops.insert(c.ops.begin(), c.ops.end());
  // Those without a kernel for GPUs, and the one that the program brings along.
  const std::set<detail::Op> left_out{
      detail::Op::cumsum,          detail::Op::source,          detail::Op::custom,        detail::Op::layer_norm,
      detail::Op::layer_norm_grad, detail::Op::dropout,         detail::Op::attention,     detail::Op::attention_grad,
      detail::Op::batch_norm,      detail::Op::batch_norm_grad, detail::Op::conv,          detail::Op::conv_input,
      detail::Op::conv_weight,     detail::Op::max_pool,        detail::Op::max_pool_grad, detail::Op::avg_pool,
      detail::Op::avg_pool_grad};
  for (const detail::Op op : left_out) EXPECT_FALSE(ops.contains(op));
  EXPECT_EQ(ops.size() + left_out.size(), static_cast<std::size_t>(detail::op_count));
}

// Why there is none; empty: there is.
std::string no_device() {
  int count = 0;
  const cudaError_t status = detail::cuda::cuda_api().get_device_count(&count);
  if (status != cudaSuccess) return cudaGetErrorString(status);
  return count > 0 ? "" : "there is no GPU here";
}

// A network that diverges must show it, whoever computes its relu.
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
  const Case& c = cases()[index];
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
                                          testing::Range(std::size_t{0}, cases().size())),
                         [](const auto& info) {
                           return fmt::format("{}_{}", cases()[std::get<1>(info.param)].name,
                                              name(std::get<0>(info.param)));
                         });

TEST(CudaLaunchGraph, TrainsToTheSameBits) {
  if (!no_device().empty()) GTEST_SKIP() << no_device();
  const tests::TrainingSizes sizes{.batch = 32, .inputs = 64, .hidden = 96, .steps = 50};
  const std::vector<float> without = tests::train(nullptr, false, sizes);
  for (const bool has_barrier : {false, true}) {
    LaunchGraph step("training step");
    EXPECT_EQ(tests::train(&step, has_barrier, sizes), without);
    EXPECT_GT(step.replays(), 0);
  }
}

// Every operation, in turn, in a graph.
TEST(CudaLaunchGraph, HoldsEveryOperation) {
  if (!no_device().empty()) GTEST_SKIP() << no_device();
  for (const Case& c : cases()) {
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

}  // namespace asyncgrad
