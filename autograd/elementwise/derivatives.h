// The gradients of elementwise formulas: for every differentiable one, the formula of the gradient in each of its
// inputs. Formulas without a row are not differentiable; where one is the formula of a gradient, the gradient's own
// gradient is computed by its steps, see compose() in apply.h. Internal.
#pragma once

#include <array>
#include <cstdint>

#include "asyncgrad/core/backend/formulas.h"

namespace asyncgrad::detail {

// An argument of a gradient: an input of the function, its result, or dy, the gradient of the result.
enum class From : std::uint8_t { x, y, z, result, dy };

// The formula of the gradient in one input, and its arguments.
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

// A row: the gradients of Formula in each of its inputs.
template <class Formula>
constexpr void row(Derivatives& table, auto... gradients) {
  static_assert(sizeof...(gradients) == Formula::inputs);
  table[static_cast<std::size_t>(formulas::id<Formula>())] = {gradients...};
}

constexpr Derivatives make_derivatives() {
  using namespace formulas;
  using enum From;
  constexpr GradientFormula no_gradient{}, same{GradientFormula::same, 0, {}};
  Derivatives table{};
  row<Negate>(table, by<Negate>(dy));
  row<Relu>(table, by<ReluGrad>(result, dy));
  row<Sigmoid>(table, by<SigmoidGrad>(result, dy));
  row<Tanh>(table, by<TanhGrad>(result, dy));
  row<Exp>(table, by<Multiply>(result, dy));
  row<Log>(table, by<Divide>(dy, x));
  row<Square>(table, by<SquareGrad>(x, dy));
  row<Sqrt>(table, by<SqrtGrad>(result, dy));
  row<Abs>(table, by<AbsGrad>(x, dy));
  row<Add>(table, same, same);
  row<Subtract>(table, same, by<Negate>(dy));
  row<Multiply>(table, by<Multiply>(y, dy), by<Multiply>(x, dy));
  row<Divide>(table, by<Divide>(dy, y), by<DivideGradY>(y, result, dy));
  row<Pow>(table, by<PowGradX>(x, y, dy), by<PowGradY>(x, result, dy));
  row<Maximum>(table, by<LargerGrad>(x, y, dy), by<LargerGrad>(y, x, dy));
  row<Minimum>(table, by<LargerGrad>(y, x, dy), by<LargerGrad>(x, y, dy));
  row<Where>(table, no_gradient, by<SelectNonzero>(x, dy), by<SelectZero>(x, dy));
  row<Sin>(table, by<SinGrad>(x, dy));
  row<Cos>(table, by<CosGrad>(x, dy));
  row<Erf>(table, by<ErfGrad>(x, dy));
  row<Rsqrt>(table, by<RsqrtGrad>(result, dy));
  row<Log1p>(table, by<Log1pGrad>(x, dy));
  row<Expm1>(table, by<Expm1Grad>(x, dy));
  row<Cube>(table, by<CubeGrad>(x, dy));
  row<Softplus>(table, by<SoftplusGrad>(x, dy));
  row<Silu>(table, by<SiluGrad>(x, dy));
  row<Gelu>(table, by<GeluGrad>(x, dy));
  row<GeluTanh>(table, by<GeluTanhGrad>(x, dy));
  row<HalfSquaredError>(table, by<HalfSquaredErrorGradX>(x, y, dy), by<HalfSquaredErrorGradX>(y, x, dy));
  // Derivatives that are functions of dy alone almost everywhere, or as simple as functions.
  row<ReluGrad>(table, no_gradient, by<ReluGrad>(x, dy));
  row<AbsGrad>(table, no_gradient, by<AbsGrad>(x, dy));
  row<SquareGrad>(table, by<SquareGrad>(y, dy), by<SquareGrad>(x, dy));
  row<LargerGrad>(table, no_gradient, no_gradient, by<LargerGrad>(x, y, dy));
  row<ClipGrad>(table, no_gradient, no_gradient, by<ClipGrad>(x, y, dy));
  row<SelectNonzero>(table, no_gradient, by<SelectNonzero>(x, dy));
  row<SelectZero>(table, no_gradient, by<SelectZero>(x, dy));
  return table;
}

inline constexpr Derivatives derivatives = make_derivatives();

constexpr bool is_differentiable(int formula) {
  for (const GradientFormula& gradient : derivatives[static_cast<std::size_t>(formula)]) {
    if (gradient.formula != GradientFormula::none) return true;
  }
  return false;
}

}  // namespace asyncgrad::detail
