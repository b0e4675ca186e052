// Gradients that are written over others; gradient_check.h compares their bits for small tensors of every operation.
#include "asyncgrad/autograd/tape/reuse.h"

#include "tests/autograd/gradient_check.h"

namespace asyncgrad::tests {
namespace {

using ::testing::Values;
using Tensors = std::vector<Tensor>;

TEST(Over, IsTheTensorItselfWhereNobodyElseSeesIt) {
  const Tensor alone = ones({3});
  EXPECT_EQ(detail::over(alone).tensor.impl(), alone.impl());
  EXPECT_EQ(detail::over(alone).access, detail::Access::finish);

  const Tensor shared = ones({3}), handle = shared;
  EXPECT_NE(detail::over(shared).tensor.impl(), shared.impl());
  EXPECT_EQ(detail::over(shared).access, detail::Access::write);
  const Tensor base = ones({4, 3}), view = base.reshape({12});
  EXPECT_NE(detail::over(base).tensor.impl(), base.impl());
  const Tensor part = ones({4, 3}).slice(0, 2);
  EXPECT_NE(detail::over(part).tensor.impl(), part.impl());
  const Tensor leaf = parameter(ones({3}));
  EXPECT_NE(detail::over(leaf).tensor.impl(), leaf.impl());
  const auto memory = std::make_shared<std::vector<float>>(3, 1.0F);
  const Tensor foreign = from_host_memory(memory->data(), {3}, memory);
  EXPECT_NE(detail::over(foreign).tensor.impl(), foreign.impl());
}

// The bytes that backward() of f(x), for a leaf x, needs more than are live before it.
std::int64_t bytes_of_backward(const Function& f, const Shape& shape) {
  set_engine_options({.schedule = Schedule::dry_run});
  const Tensor x = parameter(ones(shape));
  const Tensor loss = sum(f({x}));
  const std::int64_t before = memory_figures().serial_live_bytes;
  reset_peaks();
  loss.backward();
  const std::int64_t bytes = memory_figures().serial_peak_bytes - before;
  set_engine_options({});
  return bytes;
}

TEST(Over, AChainOfFunctionsNeedsOneGradient) {
  constexpr std::int64_t mebibyte = 1 << 20;
  const Shape shape{512, 512};
  const auto chain = [](const Tensors& t) { return tanh(sigmoid(tanh(t[0]))); };
  EXPECT_LT(bytes_of_backward(chain, shape), mebibyte + 1024);
  const auto sums = [](const Tensors& t) { return tanh(t[0]) + sigmoid(t[0]); };  // one for each, added in place
  EXPECT_LT(bytes_of_backward(sums, shape), 2 * mebibyte + 1024);
}

TEST(Over, WhatADenseLayerSavedForItsActivationIsDroppedBeforeItsProducts) {
  const auto peak = [](BackwardOptions options) {
    set_engine_options({.schedule = Schedule::dry_run});
    const Tensor x = randn({1024, 8}), w = parameter(ones({8, 1024})), b = parameter(ones({1024}));
    const Tensor loss = sum(dense(x, w, b, relu));
    reset_peaks();
    backward(loss, {}, options);
    const std::int64_t bytes = memory_figures().serial_live_bytes;
    set_engine_options({});
    return bytes;
  };
  EXPECT_LT(peak({}), peak({.retain_graph = true}));
}

TEST(Over, WhatTheProgramHoldsKeepsItsValues) {
  const Tensor x = parameter(float64_tensor({1, 2}, {2}));
  const Tensor y = square(x), z = square(y);
  const Tensor seed = float64_tensor({1, 1}, {2});
  y.retain_grad();
  backward(z, seed, {.retain_graph = true});
  const Tensor first = x.grad(), of_y = y.grad();
  EXPECT_EQ(values(first), (std::vector<double>{4, 32}));
  backward(z, seed);
  EXPECT_EQ(values(seed), (std::vector<double>{1, 1}));
  EXPECT_EQ(values(first), (std::vector<double>{4, 32}));
  EXPECT_EQ(values(of_y), (std::vector<double>{2, 8}));
  EXPECT_EQ(values(x.grad()), (std::vector<double>{8, 64}));
  EXPECT_EQ(values(y.grad()), (std::vector<double>{4, 16}));
}

// A gradient that a function of the program's gives is a tensor over memory of the program's.
TEST(Over, MemoryOfTheProgramKeepsItsValues) {
  const auto memory = std::make_shared<std::vector<float>>(2, 3.0F);
  const Tensor x = parameter(ones({2}));
  const Tensor y = with_gradient("mine", x.detach(), {square(x)}, [&](const GradientCall&) {
    return std::vector<Tensor>{from_host_memory(memory->data(), {2}, memory)};
  });
  sum(y).backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{6, 6}));
  sum(x).backward();
  EXPECT_EQ(*memory, (std::vector<float>{3, 3}));
}

struct LargeCase {
  const char* name;
  std::vector<Shape> shapes;
  Function f;
};
std::ostream& operator<<(std::ostream& out, const LargeCase& row) { return out << row.name; }

// Rows and planes of all the lengths for which kernels differ.
class OverLarge : public ::testing::TestWithParam<LargeCase> {};

TEST_P(OverLarge, TheBitsAreTheSame) {
  std::vector<Tensor> leaves;
  for (const Shape& shape : GetParam().shapes) {
    leaves.push_back(parameter(random64(shape, 7 + leaves.size(), 0.3, 1.7).to(float32)));
  }
  check_writing_over(GetParam().f, leaves);
  check_dropping(GetParam().f, leaves);
}

INSTANTIATE_TEST_SUITE_P(
    Table, OverLarge,
    Values(LargeCase{"relu", {{300, 700}}, [](const Tensors& t) { return relu(t[0] - 1); }},
           LargeCase{"dense",
                     {{300, 40}, {40, 700}, {700}},
                     [](const Tensors& t) { return dense(t[0], t[1], t[2] - 25, relu); }},
           LargeCase{"softmax", {{300, 700}}, [](const Tensors& t) { return softmax(t[0]); }},
           LargeCase{"softmax_of_columns", {{300, 700}}, [](const Tensors& t) { return softmax(t[0], 0); }},
           LargeCase{"softmax_of_short_rows", {{3000, 13}}, [](const Tensors& t) { return softmax(t[0]); }},
           LargeCase{"log_softmax", {{300, 700}}, [](const Tensors& t) { return log_softmax(t[0]); }},
           LargeCase{"log_softmax_of_short_rows", {{3000, 13}}, [](const Tensors& t) { return log_softmax(t[0]); }},
           LargeCase{
               "layer_norm", {{300, 700}, {700}, {700}}, [](const Tensors& t) { return layer_norm(t[0], t[1], t[2]); }},
           LargeCase{"rms_norm", {{300, 700}, {700}}, [](const Tensors& t) { return rms_norm(t[0], t[1]); }},
           LargeCase{"group_norm",
                     {{20, 8, 30, 30}, {8}, {8}},
                     [](const Tensors& t) { return group_norm(t[0], 4, t[1], t[2]); }},
           LargeCase{"group_norm_of_vectors",
                     {{2000, 64}, {64}, {64}},
                     [](const Tensors& t) { return group_norm(t[0], 4, t[1], t[2]); }},
           LargeCase{"batch_norm",
                     {{20, 8, 30, 30}, {8}, {8}},
                     [](const Tensors& t) { return batch_norm(t[0], t[1], t[2]).y; }},
           LargeCase{"batch_norm_of_vectors",
                     {{2000, 64}, {64}, {64}},
                     [](const Tensors& t) { return batch_norm(t[0], t[1], t[2]).y; }},
           LargeCase{"dropout",
                     {{300, 700}},
                     [](const Tensors& t) {
                       Generator generator(3);
                       return dropout(t[0], 0.3, &generator);
                     }}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace asyncgrad::tests
