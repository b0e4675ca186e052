// Compares every row of the table of derivatives with differences, so that a new row is checked without a new test.
#include <array>
#include <tuple>

#include "asyncgrad/autograd/elementwise/apply.h"
#include "asyncgrad/autograd/elementwise/derivatives.h"
#include "tests/autograd/gradient_check.h"

namespace asyncgrad::tests {
namespace {

using detail::Input;

template <std::size_t... I>
std::vector<std::string> formula_names(std::index_sequence<I...>) {
  return {std::tuple_element_t<I, formulas::Formulas>::name...};
}
template <std::size_t... I>
std::vector<int> formula_inputs(std::index_sequence<I...>) {
  return {std::tuple_element_t<I, formulas::Formulas>::inputs...};
}
const std::vector<std::string> names = formula_names(std::make_index_sequence<formulas::count>());
const std::vector<int> input_counts = formula_inputs(std::make_index_sequence<formulas::count>());

// The differentiable formulas of at least `least` and at most `most` inputs.
std::vector<int> differentiable(int min_inputs, int max_inputs) {
  std::vector<int> formulas;
  for (int formula = 0; formula < formulas::count; ++formula) {
    const int inputs = input_counts[static_cast<std::size_t>(formula)];
    if (detail::is_differentiable(formula) && inputs >= min_inputs && inputs <= max_inputs) formulas.push_back(formula);
  }
  return formulas;
}
std::string name_of(const ::testing::TestParamInfo<int>& info) { return names[static_cast<std::size_t>(info.param)]; }

class ElementwiseGradient : public ::testing::TestWithParam<int> {
 protected:
  int inputs() const { return input_counts[static_cast<std::size_t>(GetParam())]; }

  Tensor apply(const std::vector<Tensor>& tensors) const {
    return detail::apply(GetParam(), std::vector<Input>(tensors.begin(), tensors.end()), Location::current());
  }
  void check(const std::vector<Tensor>& tensors) const {
    check_gradients([&](const std::vector<Tensor>& at) { return apply(at); }, tensors);
  }
};

TEST_P(ElementwiseGradient, AgreesWithDifferences) {
  std::vector<Tensor> positive, of_both_signs;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(inputs()); ++i) {
    positive.push_back(random64({3, 5}, 10 + i, 0.3, 1.7));
    of_both_signs.push_back(random64({4, 7}, 20 + i, -2, 2));
  }
  check(positive);
  // log, sqrt and pow have neither a value nor a gradient for some negative numbers.
  if (!std::isnan(sum(apply(of_both_signs)).item())) check(of_both_signs);
}

// Gradients of the second and the third order are composed of the operations in the formulas of the first order.
TEST_P(ElementwiseGradient, HasGradientsItself) {
  std::vector<Tensor> positive, of_both_signs;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(inputs()); ++i) {
    positive.push_back(random64({2, 2}, 10 + i, 0.3, 1.7));
    of_both_signs.push_back(random64(i == 1 ? Shape{3} : Shape{2, 3}, 20 + i, -2, 2));
  }
  const Function f = [&](const std::vector<Tensor>& at) { return apply(at); };
  for (int order = 1; order <= 2; ++order) {
    check_derivatives(order, f, positive, 1e-5);
    if (!std::isnan(sum(apply(of_both_signs)).item())) check_derivatives(order, f, of_both_signs, 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, ElementwiseGradient, ::testing::ValuesIn(differentiable(1, 3)), name_of);

class ElementwiseGradientOfSeveral : public ElementwiseGradient {};

TEST_P(ElementwiseGradientOfSeveral, IsSummedOverWhatWasBroadcast) {
  const std::array<std::array<Shape, 3>, 4> shapes = {{{Shape{2, 3, 4}, Shape{4}, Shape{3, 1}},
                                                       {Shape{1, 3}, Shape{2, 1}, Shape{}},
                                                       {Shape{}, Shape{2, 2}, Shape{1, 2}},
                                                       {Shape{2, 1, 3, 1}, Shape{4, 1, 2}, Shape{1}}}};
  for (const auto& combination : shapes) {
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < static_cast<std::size_t>(inputs()); ++i) {
      tensors.push_back(random64(combination[i], 30 + i, 0.3, 1.7));
    }
    check(tensors);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, ElementwiseGradientOfSeveral, ::testing::ValuesIn(differentiable(2, 3)), name_of);

class ElementwiseGradientOfTwo : public ElementwiseGradient {};

TEST_P(ElementwiseGradientOfTwo, IsRightBesideANumber) {
  for (const bool number_first : {false, true}) {
    const auto f = [&](const std::vector<Tensor>& at) {
      std::vector<Input> operands = {at[0], detail::Number{.floating = 0.85}};
      if (number_first) std::swap(operands[0], operands[1]);
      return detail::apply(GetParam(), operands, Location::current());
    };
    check_gradients(f, {random64({3, 4}, 40, 0.3, 1.7)});
  }
}

INSTANTIATE_TEST_SUITE_P(Table, ElementwiseGradientOfTwo, ::testing::ValuesIn(differentiable(2, 2)), name_of);

}  // namespace
}  // namespace asyncgrad::tests
