// The gradients of elementwise formulas: for every differentiable one, the formula of the gradient in each of its
// inputs. A formula that is in none of the lists below does not compile. Internal.
#pragma once

#include <array>
#include <cstdint>
#include <tuple>
#include <type_traits>

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
  row<PowHalf>(table, by<SqrtGrad>(result, dy));
  row<PowMinusHalf>(table, by<RsqrtGrad>(result, dy));
  row<Remainder>(table, same, by<RemainderGradY>(x, y, dy));
  row<Lerp>(table, by<LerpGradX>(z, dy), by<Multiply>(z, dy), by<HalfSquaredErrorGradX>(y, x, dy));
  row<Maximum>(table, by<LargerGrad>(x, y, dy), by<LargerGrad>(y, x, dy));
  row<Minimum>(table, by<LargerGrad>(y, x, dy), by<LargerGrad>(x, y, dy));
  row<Where>(table, no_gradient, by<SelectNonzero>(x, dy), by<SelectZero>(x, dy));
  row<Sin>(table, by<SinGrad>(x, dy));
  row<Cos>(table, by<CosGrad>(x, dy));
  row<Erf>(table, by<ErfGrad>(x, dy));
  row<Rsqrt>(table, by<RsqrtGrad>(result, dy));
  row<Log1p>(table, by<Log1pGrad>(x, dy));
  row<Expm1>(table, by<Expm1Grad>(x, dy));
  row<Sinh>(table, by<SinhGrad>(x, dy));
  row<Cosh>(table, by<CoshGrad>(x, dy));
  row<Log2>(table, by<Log2Grad>(x, dy));
  row<Log10>(table, by<Log10Grad>(x, dy));
  row<Hypot>(table, by<HypotGrad>(x, result, dy), by<HypotGrad>(y, result, dy));
  row<Cube>(table, by<CubeGrad>(x, dy));
  row<Softplus>(table, by<SoftplusGrad>(x, dy));
  row<Silu>(table, by<SiluGrad>(x, dy));
  row<Gelu>(table, by<GeluGrad>(x, dy));
  row<GeluTanh>(table, by<GeluTanhGrad>(x, dy));
  row<Hardswish>(table, by<HardswishGrad>(x, dy));
  row<LeakyRelu>(table, by<LeakyReluGrad>(x, y, dy), by<LeakyReluGradSlope>(x, dy));
  row<Elu>(table, by<EluGrad>(x, y, dy), by<EluGradScale>(x, dy));
  row<Selu>(table, by<SeluGrad>(x, dy));
  row<Softsign>(table, by<SoftsignGrad>(x, dy));
  row<Mish>(table, by<MishGrad>(x, dy));
  row<HalfSquaredError>(table, by<HalfSquaredErrorGradX>(x, y, dy), by<HalfSquaredErrorGradX>(y, x, dy));
  row<AbsoluteError>(table, by<AbsoluteErrorGradX>(x, y, dy), by<AbsoluteErrorGradX>(y, x, dy));
  row<Huber>(table, by<HuberGradX>(x, y, dy), by<HuberGradDelta>(x, y, dy));
  row<LogisticLoss>(table, by<LogisticLossGradX>(x, y, dy), by<NegativeProduct>(x, dy));
  row<Divergence>(table, by<NegativeProduct>(y, dy), by<DivergenceGradY>(x, y, dy));
  // Derivatives that are functions of dy alone almost everywhere, or as simple as functions.
  row<ReluGrad>(table, no_gradient, by<ReluGrad>(x, dy));
  row<AbsGrad>(table, no_gradient, by<AbsGrad>(x, dy));
  row<SquareGrad>(table, by<SquareGrad>(y, dy), by<SquareGrad>(x, dy));
  row<AbsoluteErrorGradX>(table, no_gradient, no_gradient, by<AbsoluteErrorGradX>(x, y, dy));
  row<NegativeProduct>(table, by<NegativeProduct>(y, dy), by<NegativeProduct>(x, dy));
  row<LargerGrad>(table, no_gradient, no_gradient, by<LargerGrad>(x, y, dy));
  row<LerpGradX>(table, by<NegativeProduct>(y, dy), by<LerpGradX>(x, dy));
  row<RemainderGradY>(table, no_gradient, no_gradient, by<RemainderGradY>(x, y, dy));
  row<ClipGrad>(table, no_gradient, no_gradient, by<ClipGrad>(x, y, dy));
  row<SelectNonzero>(table, no_gradient, by<SelectNonzero>(x, dy));
  row<SelectZero>(table, no_gradient, by<SelectZero>(x, dy));
  return table;
}

inline constexpr Derivatives derivatives = make_derivatives();

template <class... Formulas>
struct FormulaList {
  static constexpr bool has(int formula) { return (... || (formulas::id<Formulas>() == formula)); }
};
// Gradients whose own gradient is computed step by step, see apply_stepwise() in apply.h.
using ByTheirSteps =
    FormulaList<formulas::SigmoidGrad, formulas::TanhGrad, formulas::SqrtGrad, formulas::DivideGradY,
                formulas::PowGradX, formulas::PowGradY, formulas::HalfSquaredErrorGradX, formulas::SinGrad,
                formulas::CosGrad, formulas::ErfGrad, formulas::RsqrtGrad, formulas::Log1pGrad, formulas::Expm1Grad,
                formulas::CubeGrad, formulas::SoftplusGrad, formulas::SiluGrad, formulas::GeluGrad,
                formulas::GeluTanhGrad, formulas::HardswishGrad, formulas::SinhGrad, formulas::CoshGrad,
                formulas::Log2Grad, formulas::Log10Grad, formulas::HypotGrad, formulas::LeakyReluGrad,
                formulas::LeakyReluGradSlope, formulas::EluGrad, formulas::EluGradScale, formulas::SeluGrad,
                formulas::SoftsignGrad, formulas::MishGrad, formulas::HuberGradX, formulas::HuberGradDelta,
                formulas::LogisticLossGradX, formulas::DivergenceGradY>;
// These formulas have the gradient 0, or none, wherever they are used. Predicates, which are not listed, have none.
using Constants = FormulaList<formulas::Floor, formulas::Round, formulas::Sign, formulas::FloorDivide>;
// Parts of functions that record a gradient of their own: clip, max and min, logsumexp.
using PartsOfFunctions = FormulaList<formulas::Clip, formulas::Same, formulas::FiniteOrZero, formulas::ExpOfDifference,
                                     formulas::LogsumexpGrad>;

constexpr bool is_differentiable(int formula) {
  for (const GradientFormula& gradient : derivatives[static_cast<std::size_t>(formula)]) {
    if (gradient.formula != GradientFormula::none) return true;
  }
  return false;
}

// Whether each formula of the table is in one list, and in no other.
template <class... Rows>
constexpr bool are_all_listed(std::type_identity<std::tuple<Rows...>>) {
  const auto lists = [](int formula, bool is_predicate) {
    return (is_differentiable(formula) ? 1 : 0) + (is_predicate ? 1 : 0) + (ByTheirSteps::has(formula) ? 1 : 0) +
           (Constants::has(formula) ? 1 : 0) + (PartsOfFunctions::has(formula) ? 1 : 0);
  };
  return (... && (lists(formulas::id<Rows>(), Rows::is_predicate) == 1));
}
static_assert(are_all_listed(std::type_identity<formulas::Formulas>()),
              "a formula has its derivative in make_derivatives(), or is in the list that says why it has none");

}  // namespace asyncgrad::detail
