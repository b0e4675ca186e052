// The table of elementwise formulas: every backend and every test goes through it. Its rows are in formulas/, by
// subject.
//
// A row is a type with a name, the number of its inputs, whether int64 has it too, and the formula, written over a Math
// that a backend brings: SIMD vectors on a CPU, scalars on a GPU or in a reference. A Math `m` has, for its vector type
// V (the result of m.set):
//   m.set(double) -> V         m.add/sub/mul/div/min/max/pow(V, V) -> V      m.neg/abs/sqrt/floor/round(V) -> V
//   m.floor_divide/remainder(V, V) -> V        m.flush(V) -> V
//   m.exp/expm1/log/log1p/log2/log10/sin/cos/tanh/erf/erfc(V) -> V
//   m.equal/less(V, V) -> mask                   m.select(mask, V if_true, V if_false) -> V
// min and max give NaN where either side is NaN. round rounds halves to even. erfc is 1 - erf without its cancellation.
// flush gives 0 for a subnormal number: some processors take a hundred times as long for products with these.
// floor_divide and remainder are Python's // and %; of integers both are 0 where the divisor is 0.
//
// Gradient rows take dy, the gradient of the result, last and return the gradient of one input. CONTRIBUTING.md says how
// to add a function.
#pragma once

#include <tuple>

#include "asyncgrad/core/backend/formulas/activations.h"
#include "asyncgrad/core/backend/formulas/arithmetic.h"
#include "asyncgrad/core/backend/formulas/functions.h"
#include "asyncgrad/core/backend/formulas/losses.h"
#include "asyncgrad/core/backend/formulas/predicates.h"
#include "asyncgrad/core/backend/formulas/selections.h"
#include "asyncgrad/core/backend/formulas/wide_range.h"
#include "asyncgrad/core/backend/rows.h"

namespace asyncgrad::formulas {

// Every row, in no particular order: a formula's id is its place here.
using Formulas =
    std::tuple<Negate, Relu, ReluGrad, Sigmoid, SigmoidGrad, Tanh, TanhGrad, Exp, Log, Square, SquareGrad, Sqrt,
               SqrtGrad, Abs, AbsGrad, Add, Subtract, Multiply, Divide, DivideGradY, Pow, PowGradX, PowGradY, Maximum,
               Minimum, LargerGrad, Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, IsNan, IsFinite,
               LogicalNot, LogicalAnd, LogicalOr, LogicalXor, Where, SelectNonzero, SelectZero, HalfSquaredError,
               HalfSquaredErrorGradX, Sin, SinGrad, Cos, CosGrad, Erf, ErfGrad, Rsqrt, RsqrtGrad, Log1p, Log1pGrad,
               Expm1, Expm1Grad, Floor, Round, Sign, Cube, CubeGrad, Softplus, SoftplusGrad, Silu, SiluGrad, Gelu,
               GeluGrad, GeluTanh, GeluTanhGrad, Hardswish, HardswishGrad, Clip, ClipGrad, Same, FiniteOrZero,
               ExpOfDifference, LogsumexpGrad, Lerp, LerpGradX, FloorDivide, Remainder, RemainderGradY, PowHalf,
               PowMinusHalf, Sinh, SinhGrad, Cosh, CoshGrad, Log2, Log2Grad, Log10, Log10Grad, Hypot, HypotGrad,
               LeakyRelu, LeakyReluGrad, LeakyReluGradSlope, Elu, EluGrad, EluGradScale, Selu, SeluGrad, Softsign,
               SoftsignGrad, Mish, MishGrad, AbsoluteError, AbsoluteErrorGradX, Huber, HuberGradX, HuberGradDelta,
               LogisticLoss, LogisticLossGradX, NegativeProduct, Divergence, DivergenceGradY>;
inline constexpr int count = std::tuple_size_v<Formulas>;

template <class Formula>
constexpr int id() {
  return detail::row_number<Formula, Formulas>;
}

}  // namespace asyncgrad::formulas
