// Whose gradient is what: for every differentiable elementwise formula, the formula of the gradient in each of its
// inputs. Formulas without a row are not differentiable. Internal.
#pragma once

#include <array>
#include <cstdint>

#include "asyncgrad/core/formulas.h"

namespace asyncgrad::detail {

// What a gradient is computed from: an input of the function, its result, or dy, the gradient of the result.
enum class From : std::uint8_t { x, y, z, result, dy };

// The gradient in one input.
struct GradientFormula {
  static constexpr int none = -1, same = -2;
  int formula = none;  // none: the input has no gradient; same: dy itself
  int count = 0;
  std::array<From, 3> from{};
};

using Derivative = std::array<GradientFormula, 3>;
using Derivatives = std::array<Derivative, formulas::count>;

template <class Formula>
constexpr GradientFormula by(auto... from) {
  static_assert(sizeof...(from) == Formula::inputs);
  return {formulas::id<Formula>(), Formula::inputs, {from...}};
}

template <class Formula>
struct DerivativeOf {
  static constexpr int formula = formulas::id<Formula>();
  Derivative gradients;
  constexpr DerivativeOf(auto... gradients) : gradients{gradients...} {
    static_assert(sizeof...(gradients) == Formula::inputs);
  }
};

constexpr Derivatives table_of(auto... rows) {
  Derivatives table{};
  ((table[static_cast<std::size_t>(rows.formula)] = rows.gradients), ...);
  return table;
}

constexpr Derivatives make_derivatives() {
  using namespace formulas;
  using enum From;
  constexpr GradientFormula no_gradient{}, same{GradientFormula::same, 0, {}};
  return table_of(
      DerivativeOf<Negate>(by<Negate>(dy)), DerivativeOf<Relu>(by<ReluGrad>(result, dy)),
      DerivativeOf<Sigmoid>(by<SigmoidGrad>(result, dy)), DerivativeOf<Tanh>(by<TanhGrad>(result, dy)),
      DerivativeOf<Exp>(by<Multiply>(result, dy)), DerivativeOf<Log>(by<Divide>(dy, x)),
      DerivativeOf<Square>(by<SquareGrad>(x, dy)), DerivativeOf<Sqrt>(by<SqrtGrad>(result, dy)),
      DerivativeOf<Abs>(by<AbsGrad>(x, dy)), DerivativeOf<Add>(same, same),
      DerivativeOf<Subtract>(same, by<Negate>(dy)), DerivativeOf<Multiply>(by<Multiply>(y, dy), by<Multiply>(x, dy)),
      DerivativeOf<Divide>(by<Divide>(dy, y), by<DivideGradY>(y, result, dy)),
      DerivativeOf<Pow>(by<PowGradX>(x, y, dy), by<PowGradY>(x, result, dy)),
      DerivativeOf<Maximum>(by<LargerGrad>(x, y, dy), by<LargerGrad>(y, x, dy)),
      DerivativeOf<Minimum>(by<LargerGrad>(y, x, dy), by<LargerGrad>(x, y, dy)),
      DerivativeOf<Where>(no_gradient, by<SelectNonzero>(x, dy), by<SelectZero>(x, dy)),
      DerivativeOf<HalfSquaredError>(by<HalfSquaredErrorGradX>(x, y, dy), by<HalfSquaredErrorGradX>(y, x, dy)));
}

inline constexpr Derivatives derivatives = make_derivatives();

constexpr bool is_differentiable(int formula) {
  for (const GradientFormula& gradient : derivatives[static_cast<std::size_t>(formula)]) {
    if (gradient.formula != GradientFormula::none) return true;
  }
  return false;
}

}  // namespace asyncgrad::detail
