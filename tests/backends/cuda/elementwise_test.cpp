#include <set>
#include <string>
#include <utility>

#include "tests/backends/cuda/both_backends.h"
#include "tests/backends/each_formula.h"

namespace asyncgrad::detail {

namespace {

// Formulas of functions that are not computed exactly.
const std::set<std::string> inexact = {"sigmoid",
                                       "tanh",
                                       "exp",
                                       "log",
                                       "pow",
                                       "pow_grad_x",
                                       "pow_grad_y",
                                       "sin",
                                       "sin_grad",
                                       "cos",
                                       "cos_grad",
                                       "erf",
                                       "erf_grad",
                                       "log1p",
                                       "expm1",
                                       "expm1_grad",
                                       "silu",
                                       "silu_grad",
                                       "softplus",
                                       "softplus_grad",
                                       "gelu",
                                       "gelu_grad",
                                       "gelu_tanh",
                                       "gelu_tanh_grad",
                                       "exp_of_difference",
                                       "logsumexp_grad",
                                       "sinh",
                                       "sinh_grad",
                                       "cosh",
                                       "cosh_grad",
                                       "log2",
                                       "log10",
                                       "elu",
                                       "elu_grad",
                                       "elu_grad_scale",
                                       "selu",
                                       "selu_grad",
                                       "mish",
                                       "mish_grad",
                                       "logistic_loss",
                                       "logistic_loss_grad_x",
                                       "divergence",
                                       "divergence_grad_y"};
// Those that are 0 where two larger numbers cancel: what is off there is off by as much as elsewhere.
const std::set<std::string> cancelling = {"gelu_grad",        "gelu_tanh_grad",       "mish_grad",
                                          "logistic_loss",    "logistic_loss_grad_x", "divergence",
                                          "divergence_grad_y"};
constexpr double tolerance_ulps = 12;  // as the CPU's own test allows

template <class T>
void expect_as_cpu(const FormulaCase<T>& formula, const BothBackends& both) {
  if (inexact.contains(formula.name)) {
    both.expect_close<T>(tolerance_ulps, cancelling.contains(formula.name) ? 1 : 0);
  } else {
    both.expect_same_bits<T>();
  }
}

template <class T>
void check_shapes(const FormulaCase<T>& formula, const Shape& out, const std::array<Shape, 3>& shapes) {
  SCOPED_TRACE(std::string(formula.name) + " of " + name(dtype_of<T>) + out.str());
  BothBackends both;
  both.output<T>(out);
  for (std::size_t k = 0; k < formula.inputs; ++k) both.random_input<T>(shapes[k]);
  both.run(Op::elementwise, ElementwiseAttributes{.formula = formula.id});
  expect_as_cpu(formula, both);
}

TEST(CudaElementwise, IsTheCpusForEverySize) {
  each_formula([]<class T>(const FormulaCase<T>& formula) {
    for (const std::int64_t n : {0, 1, 3, 4, 5, 1000, 1003}) check_shapes(formula, n, {n, n, n});
  });
}

TEST(CudaElementwise, Broadcasts) {
  const std::vector<std::pair<Shape, std::array<Shape, 3>>> cases = {
      {{37, 20}, {Shape{37, 20}, Shape{20}, Shape{37, 1}}},
      {{37, 20}, {Shape{20}, Shape{37, 1}, Shape{}}},
      {{37, 20}, {Shape{37, 20}, Shape{}, Shape{1, 1}}},
      {{60, 5}, {Shape{60, 1}, Shape{1, 5}, Shape{60, 5}}},
      {{3, 4, 5, 6}, {Shape{4, 1, 6}, Shape{3, 1, 5, 1}, Shape{5, 6}}},
      {{2, 3, 2, 3, 2, 3}, {Shape{2, 1, 2, 1, 2, 1}, Shape{3, 1, 3, 1, 3}, Shape{2, 3, 2, 3, 2, 3}}},
      {{1, 1}, {Shape{1, 1}, Shape{}, Shape{1}}},
      {{}, {Shape{}, Shape{}, Shape{}}},
      {{0, 5}, {Shape{0, 5}, Shape{5}, Shape{0, 1}}},
  };
  each_formula([&]<class T>(const FormulaCase<T>& formula) {
    for (const auto& [out, shapes] : cases) {
      // With fewer inputs, one of them must have the shape of the output.
      std::array<Shape, 3> used = shapes;
      if (formula.inputs < 3) used[0] = out;
      check_shapes(formula, out, used);
    }
  });
}

// Numbers in place of all inputs but one, and of fewer: one is a tensor, which tells the type.
TEST(CudaElementwise, TakesNumbers) {
  each_formula([]<class T>(const FormulaCase<T>& formula) {
    for (unsigned mask = 1; mask + 1 < 1U << formula.inputs; ++mask) {
      SCOPED_TRACE(std::string(formula.name) + " of " + name(dtype_of<T>) + ", mask " + std::to_string(mask));
      ElementwiseAttributes attributes{.formula = formula.id, .scalar_mask = static_cast<std::uint8_t>(mask)};
      BothBackends both;
      both.output<T>({7, 9});
      for (unsigned k = 0; k < formula.inputs; ++k) {
        Number& number = attributes.scalars[k];
        if constexpr (std::is_integral_v<T>) {
          number.integer = 2 + k;
        } else {
          number.floating = 1.25 + k;
        }
        if ((mask >> k & 1U) == 0) both.random_input<T>({7, 9});
      }
      both.run(Op::elementwise, attributes);
      expect_as_cpu(formula, both);
    }
  });
}

// Slices of rows begin anywhere.
TEST(CudaElementwise, NeedsNoAlignment) {
  const std::int64_t n = 101;
  const std::vector<float> values = random_values<float>(n + 1, 1);
  for (const int skipped : {0, 1, 2}) {  // whose data begins an element late: the output, the input or neither
    const Array x({n + 1}, values), y({n + 1}, std::vector<float>(static_cast<std::size_t>(n + 1), 77));
    std::vector<View> operands{written(y), read(x)};
    for (View& operand : operands) operand.shape = {n};
    if (skipped < 2) operands[static_cast<std::size_t>(skipped)].data += sizeof(float);
    run_on_cuda(Op::elementwise, operands, ElementwiseAttributes{.formula = formulas::id<formulas::Negate>()});
    const std::vector<float> result = y.values<float>();
    for (std::int64_t i = 0; i < n; ++i) {
      EXPECT_EQ(result[static_cast<std::size_t>(i + (skipped == 0))],
                -values[static_cast<std::size_t>(i + (skipped == 1))]);
    }
    EXPECT_EQ(result[skipped == 0 ? 0 : static_cast<std::size_t>(n)], 77);
  }
}

}  // namespace

}  // namespace asyncgrad::detail
