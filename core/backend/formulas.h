// The table of elementwise formulas: every backend and every test goes through it. Rows that give 1 or 0 are in
// predicates.h, and rows that need care in a part of their range are in wide_range.h.
//
// A row is a type with a name, the number of its inputs, whether int64 has it too, and the formula, written over a Math
// that a backend brings: SIMD vectors on a CPU, scalars on a GPU or in a reference. A Math `m` has, for its vector type
// V (the result of m.set):
//   m.set(double) -> V         m.add/sub/mul/div/min/max/pow(V, V) -> V      m.neg/abs/sqrt/floor/round(V) -> V
//   m.floor_divide/remainder(V, V) -> V
//   m.exp/expm1/log/log1p/log2/log10/sin/cos/tanh/erf/erfc(V) -> V
//   m.equal/less(V, V) -> mask                   m.select(mask, V if_true, V if_false) -> V
// min and max give NaN where either side is NaN. round rounds halves to even. erfc is 1 - erf without its cancellation.
// floor_divide and remainder are Python's // and %; of integers both are 0 where the divisor is 0.
//
// To add an elementwise operation: a row for the function, a row for its derivative, both in `Formulas`, and in
// autograd/elementwise/derivatives.h whose gradient it is. Gradient rows take dy, the gradient of the result, last and
// return the gradient of one input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>

#include "asyncgrad/core/backend/predicates.h"
#include "asyncgrad/core/backend/rows.h"
#include "asyncgrad/core/backend/wide_range.h"

namespace asyncgrad::formulas {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double sqrt_pi = 1.7724538509055160273, sqrt_half = 0.70710678118654752440;
// gelu_tanh(x) = x sigmoid(scale (x + cubic x^3)): Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016.
inline constexpr double gelu_tanh_scale = 4 * sqrt_half / sqrt_pi, gelu_tanh_cubic = 0.044715;

struct Negate : Row<1, true> {
  static constexpr const char* name = "negate";
  static constexpr auto apply(const auto& m, auto x) { return m.neg(x); }
};
struct Relu : Row<1, true> {
  static constexpr const char* name = "relu";
  static constexpr auto apply(const auto& m, auto x) { return m.max(x, m.set(0)); }
};
struct ReluGrad : Row<2> {  // from the output: y > 0
  static constexpr const char* name = "relu_grad";
  static constexpr auto apply(const auto& m, auto y, auto dy) { return m.select(m.less(m.set(0), y), dy, m.set(0)); }
};
// 1 / (1 + e^-x), computed from e^-|x| so that nothing overflows. Only the sign of x is taken.
constexpr auto sigmoid_from(const auto& m, auto x, auto power) {
  return once(
      m,
      [](const auto& m, auto x, auto e) {
        return m.div(m.select(m.less(x, m.set(0)), e, m.set(1)), m.add(m.set(1), e));
      },
      x, power);
}
constexpr auto sigmoid_of(const auto& m, auto x) { return sigmoid_from(m, x, m.exp(m.neg(m.abs(x)))); }
// x p, or 0 where p is 0: p vanishes faster than x grows.
constexpr auto vanishing_product(const auto& m, auto x, auto p) {
  return m.select(m.equal(p, m.set(0)), m.set(0), m.mul(x, p));
}

struct Sigmoid : Row<1> {
  static constexpr const char* name = "sigmoid";
  static constexpr auto apply(const auto& m, auto x) { return sigmoid_of(m, x); }
};
struct SigmoidGrad : Row<2> {  // from the output: y (1 - y)
  static constexpr const char* name = "sigmoid_grad";
  static constexpr auto apply(const auto& m, auto y, auto dy) { return m.mul(dy, m.mul(y, m.sub(m.set(1), y))); }
};
struct Tanh : Row<1> {
  static constexpr const char* name = "tanh";
  static constexpr auto apply(const auto& m, auto x) { return m.tanh(x); }
};
struct TanhGrad : Row<2> {  // from the output: 1 - y^2
  static constexpr const char* name = "tanh_grad";
  static constexpr auto apply(const auto& m, auto y, auto dy) { return m.mul(dy, m.sub(m.set(1), m.mul(y, y))); }
};
struct Exp : Row<1> {
  static constexpr const char* name = "exp";
  static constexpr auto apply(const auto& m, auto x) { return m.exp(x); }
};
struct Log : Row<1> {
  static constexpr const char* name = "log";
  static constexpr auto apply(const auto& m, auto x) { return m.log(x); }
};
struct Square : Row<1, true> {
  static constexpr const char* name = "square";
  static constexpr auto apply(const auto& m, auto x) { return m.mul(x, x); }
};
struct SquareGrad : Row<2> {  // 2 x
  static constexpr const char* name = "square_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) { return m.mul(dy, m.mul(m.set(2), x)); }
};
struct Sqrt : Row<1> {
  static constexpr const char* name = "sqrt";
  static constexpr auto apply(const auto& m, auto x) { return m.sqrt(x); }
};
struct SqrtGrad : Row<2> {  // from the output: 1 / (2 y)
  static constexpr const char* name = "sqrt_grad";
  static constexpr auto apply(const auto& m, auto y, auto dy) { return m.div(dy, m.mul(m.set(2), y)); }
};
struct Abs : Row<1, true> {
  static constexpr const char* name = "abs";
  static constexpr auto apply(const auto& m, auto x) { return m.abs(x); }
};
struct AbsGrad : Row<2> {  // the sign of x, 0 at 0
  static constexpr const char* name = "abs_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) {
    const auto zero = m.set(0);
    return m.select(m.less(x, zero), m.neg(dy), m.select(m.less(zero, x), dy, zero));
  }
};

struct Sin : Row<1> {
  static constexpr const char* name = "sin";
  static constexpr auto apply(const auto& m, auto x) { return m.sin(x); }
};
struct SinGrad : Row<2> {  // cos x
  static constexpr const char* name = "sin_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) { return m.mul(dy, m.cos(x)); }
};
struct Cos : Row<1> {
  static constexpr const char* name = "cos";
  static constexpr auto apply(const auto& m, auto x) { return m.cos(x); }
};
struct CosGrad : Row<2> {  // -sin x
  static constexpr const char* name = "cos_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) { return m.neg(m.mul(dy, m.sin(x))); }
};
struct Erf : Row<1> {
  static constexpr const char* name = "erf";
  static constexpr auto apply(const auto& m, auto x) { return m.erf(x); }
};
struct ErfGrad : Row<2> {  // 2 / sqrt(pi) e^(-x^2)
  static constexpr const char* name = "erf_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) {
    return m.mul(dy, m.mul(m.set(2 / sqrt_pi), m.exp(m.neg(m.mul(x, x)))));
  }
};
struct Rsqrt : Row<1> {
  static constexpr const char* name = "rsqrt";
  static constexpr auto apply(const auto& m, auto x) { return m.div(m.set(1), m.sqrt(x)); }
};
struct RsqrtGrad : Row<2> {  // from the output: -y^3 / 2
  static constexpr const char* name = "rsqrt_grad";
  static constexpr auto apply(const auto& m, auto y, auto dy) {
    return m.mul(dy, m.mul(m.set(-0.5), m.mul(y, m.mul(y, y))));
  }
};
struct Log1p : Row<1> {
  static constexpr const char* name = "log1p";
  static constexpr auto apply(const auto& m, auto x) { return m.log1p(x); }
};
struct Log1pGrad : Row<2> {  // 1 / (1 + x)
  static constexpr const char* name = "log1p_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) { return m.div(dy, m.add(m.set(1), x)); }
};
struct Expm1 : Row<1> {
  static constexpr const char* name = "expm1";
  static constexpr auto apply(const auto& m, auto x) { return m.expm1(x); }
};
struct Expm1Grad : Row<2> {  // e^x
  static constexpr const char* name = "expm1_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) { return m.mul(dy, m.exp(x)); }
};
struct Floor : Row<1, true> {
  static constexpr const char* name = "floor";
  static constexpr auto apply(const auto& m, auto x) { return m.floor(x); }
};
struct Round : Row<1, true> {
  static constexpr const char* name = "round";
  static constexpr auto apply(const auto& m, auto x) { return m.round(x); }
};
struct Sign : Row<1, true> {
  static constexpr const char* name = "sign";
  static constexpr auto apply(const auto& m, auto x) {
    return m.select(m.less(x, m.set(0)), m.set(-1), m.select(m.less(m.set(0), x), m.set(1), m.abs(x)));  // 0, or NaN
  }
};
struct Cube : Row<1> {
  static constexpr const char* name = "cube";
  static constexpr auto apply(const auto& m, auto x) { return m.mul(x, m.mul(x, x)); }
};
struct CubeGrad : Row<2> {  // 3 x^2
  static constexpr const char* name = "cube_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) { return m.mul(dy, m.mul(m.set(3), m.mul(x, x))); }
};
struct Softplus : Row<1> {  // log(1 + e^x), by e^-|x| so that nothing overflows
  static constexpr const char* name = "softplus";
  static constexpr auto apply(const auto& m, auto x) {
    return m.add(m.max(x, m.set(0)), m.log1p(m.exp(m.neg(m.abs(x)))));
  }
};
struct SoftplusGrad : Row<2> {
  static constexpr const char* name = "softplus_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) { return m.mul(dy, sigmoid_of(m, x)); }
};
struct Silu : Row<1> {
  static constexpr const char* name = "silu";
  static constexpr auto apply(const auto& m, auto x) { return vanishing_product(m, x, sigmoid_of(m, x)); }
};
struct SiluGrad : Row<2> {  // s + x s (1 - s)
  static constexpr const char* name = "silu_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) {
    const auto s = sigmoid_of(m, x);
    return m.mul(dy, m.add(s, vanishing_product(m, x, m.mul(s, m.sub(m.set(1), s)))));
  }
};
// The distribution function of N(0, 1).
constexpr auto normal_cdf(const auto& m, auto x) { return m.mul(m.set(0.5), m.erfc(m.mul(m.set(-sqrt_half), x))); }
struct Gelu : Row<1> {
  static constexpr const char* name = "gelu";
  static constexpr auto apply(const auto& m, auto x) { return vanishing_product(m, x, normal_cdf(m, x)); }
};
struct GeluGrad : Row<2> {  // the distribution function of N(0, 1) and x times its density
  static constexpr const char* name = "gelu_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) {
    const auto root = m.mul(m.set(-sqrt_half), x);  // so that the power is that of erfc, computed once
    const auto density = m.mul(m.set(sqrt_half / sqrt_pi), m.exp(m.neg(m.mul(root, root))));
    return m.mul(dy, m.add(normal_cdf(m, x), vanishing_product(m, x, density)));
  }
};
// The sigmoid whose product with x is gelu_tanh: (1 + tanh(u)) / 2 is sigmoid(2 u), which cancels nothing.
constexpr auto gelu_tanh_gate(const auto& m, auto x) {
  const auto cubic = m.add(m.set(1), m.mul(m.set(gelu_tanh_cubic), m.mul(x, x)));
  return sigmoid_from(m, x, m.exp(m.neg(m.mul(m.abs(x), m.mul(m.set(gelu_tanh_scale), cubic)))));
}
struct GeluTanh : Row<1> {
  static constexpr const char* name = "gelu_tanh";
  static constexpr auto apply(const auto& m, auto x) { return vanishing_product(m, x, gelu_tanh_gate(m, x)); }
};
struct GeluTanhGrad : Row<2> {  // s (1 + x (1 - s) times the derivative of the sigmoid's argument)
  static constexpr const char* name = "gelu_tanh_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) {
    const auto growth =
        m.mul(m.mul(m.set(gelu_tanh_scale), x), m.add(m.set(1), m.mul(m.set(3 * gelu_tanh_cubic), m.mul(x, x))));
    const auto derivative = [](const auto& m, auto growth, auto s) {
      return vanishing_product(m, m.add(m.set(1), vanishing_product(m, growth, m.sub(m.set(1), s))), s);
    };
    return m.mul(dy, once(m, derivative, growth, gelu_tanh_gate(m, x)));
  }
};
// Howard et al., "Searching for MobileNetV3", 2019. It is x from 3 on and 0 up to -3, and so is its gradient there.
inline constexpr double hardswish_bound = 3;
constexpr auto within_hardswish(const auto& m, auto x) {
  return m.min(m.max(x, m.set(-hardswish_bound)), m.set(hardswish_bound));
}
struct Hardswish : Row<1> {
  static constexpr const char* name = "hardswish";
  static constexpr auto apply(const auto& m, auto x) {
    const auto gate = m.div(m.add(within_hardswish(m, x), m.set(hardswish_bound)), m.set(2 * hardswish_bound));
    return vanishing_product(m, x, gate);
  }
};
struct HardswishGrad : Row<2> {  // x / 3 + 1/2 between the bounds, 0 or 1 at them and beyond
  static constexpr const char* name = "hardswish_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) {
    const auto bound = m.set(hardswish_bound);
    const auto within = within_hardswish(m, x);
    const auto derivative = m.add(m.div(within, bound), m.set(0.5));
    const auto falling = m.select(m.equal(within, m.neg(bound)), m.set(0), m.mul(dy, derivative));
    return m.select(m.equal(within, bound), dy, falling);
  }
};
struct LeakyRelu : Row<2> {  // of x and the slope of the negative part
  static constexpr const char* name = "leaky_relu";
  static constexpr auto apply(const auto& m, auto x, auto slope) {
    return m.select(m.less(x, m.set(0)), m.mul(slope, x), x);
  }
};
struct LeakyReluGrad : Row<3> {  // at 0 that of the negative part, as in PyTorch
  static constexpr const char* name = "leaky_relu_grad";
  static constexpr auto apply(const auto& m, auto x, auto slope, auto dy) {
    return m.select(m.less(m.set(0), x), dy, m.mul(slope, dy));
  }
};
struct LeakyReluGradSlope : Row<2> {  // x where it is negative
  static constexpr const char* name = "leaky_relu_grad_slope";
  static constexpr auto apply(const auto& m, auto x, auto dy) { return m.mul(dy, m.min(x, m.set(0))); }
};
struct Elu : Row<2> {  // of x and the scale a of the negative part a (e^x - 1)
  static constexpr const char* name = "elu";
  static constexpr auto apply(const auto& m, auto x, auto scale) {
    return m.select(m.less(m.set(0), x), x, m.mul(scale, m.expm1(m.min(x, m.set(0)))));
  }
};
struct EluGrad : Row<3> {  // 1, or a e^x
  static constexpr const char* name = "elu_grad";
  static constexpr auto apply(const auto& m, auto x, auto scale, auto dy) {
    return m.select(m.less(m.set(0), x), dy, m.mul(dy, m.mul(scale, m.exp(m.min(x, m.set(0))))));
  }
};
struct EluGradScale : Row<2> {  // e^x - 1 where x is negative
  static constexpr const char* name = "elu_grad_scale";
  static constexpr auto apply(const auto& m, auto x, auto dy) { return m.mul(dy, m.expm1(m.min(x, m.set(0)))); }
};
// Klambauer et al., "Self-Normalizing Neural Networks", 2017: elu with a scale of the negative part, and one of all.
inline constexpr double selu_negative = 1.6732632423543772848, selu_scale = 1.0507009873554804934;
struct Selu : Row<1> {
  static constexpr const char* name = "selu";
  static constexpr auto apply(const auto& m, auto x) {
    return m.mul(m.set(selu_scale), Elu::apply(m, x, m.set(selu_negative)));
  }
};
struct SeluGrad : Row<2> {
  static constexpr const char* name = "selu_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) {
    return m.mul(m.set(selu_scale), EluGrad::apply(m, x, m.set(selu_negative), dy));
  }
};
struct Softsign : Row<1> {
  static constexpr const char* name = "softsign";
  static constexpr auto apply(const auto& m, auto x) { return m.div(x, m.add(m.set(1), m.abs(x))); }
};
struct SoftsignGrad : Row<2> {  // 1 / (1 + |x|)^2
  static constexpr const char* name = "softsign_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) {
    const auto share = m.div(m.set(1), m.add(m.set(1), m.abs(x)));
    return m.mul(dy, m.mul(share, share));
  }
};
// The gate tanh(softplus(x)) of mish by p = e^-|x|: (1 + 2 p) / (1 + 2 p + 2 p^2) for x >= 0, and below it the same of
// e^x, (p^2 + 2 p) / (p^2 + 2 p + 2). Misra, "Mish: A Self Regularized Non-Monotonic Activation Function", 2019.
constexpr auto mish_gate(const auto& m, auto x) {
  const auto of_power = [](const auto& m, auto x, auto p) {
    const auto two = m.set(2);
    const auto square = m.mul(p, p);
    const auto twice = m.mul(two, p);
    const auto positive = m.add(m.set(1), twice);
    const auto negative = m.add(square, twice);
    return m.select(m.less(x, m.set(0)), m.div(negative, m.add(negative, two)),
                    m.div(positive, m.add(positive, m.mul(two, square))));
  };
  return once(m, of_power, x, m.exp(m.neg(m.abs(x))));
}
struct Mish : Row<1> {  // x tanh(softplus(x))
  static constexpr const char* name = "mish";
  static constexpr auto apply(const auto& m, auto x) { return vanishing_product(m, x, mish_gate(m, x)); }
};
struct MishGrad : Row<2> {  // g + x (1 - g^2) sigmoid(x), with the gate g
  static constexpr const char* name = "mish_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) {
    const auto derivative = [](const auto& m, auto x, auto g) {
      return m.add(g, vanishing_product(m, x, m.mul(m.sub(m.set(1), m.mul(g, g)), sigmoid_of(m, x))));
    };
    return m.mul(dy, once(m, derivative, x, mish_gate(m, x)));
  }
};
struct Clip : Row<3, true> {
  static constexpr const char* name = "clip";
  static constexpr auto apply(const auto& m, auto x, auto low, auto high) { return m.min(m.max(x, low), high); }
};
struct ClipGrad : Row<3> {  // from the output: dy where x was kept
  static constexpr const char* name = "clip_grad";
  static constexpr auto apply(const auto& m, auto x, auto y, auto dy) { return m.select(m.equal(x, y), dy, m.set(0)); }
};

struct Add : Row<2, true> {
  static constexpr const char* name = "add";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.add(x, y); }
};
struct Subtract : Row<2, true> {
  static constexpr const char* name = "subtract";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.sub(x, y); }
};
struct Multiply : Row<2, true> {
  static constexpr const char* name = "multiply";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.mul(x, y); }
};
struct Divide : Row<2> {
  static constexpr const char* name = "divide";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.div(x, y); }
};
struct DivideGradY : Row<3> {  // from y and the output q = x / y: -q / y
  static constexpr const char* name = "divide_grad_y";
  static constexpr auto apply(const auto& m, auto y, auto q, auto dq) { return m.neg(m.mul(dq, m.div(q, y))); }
};
struct FloorDivide : Row<2, true> {
  static constexpr const char* name = "floor_divide";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.floor_divide(x, y); }
};
struct Remainder : Row<2, true> {
  static constexpr const char* name = "remainder";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.remainder(x, y); }
};
struct RemainderGradY : Row<3> {  // minus the quotient
  static constexpr const char* name = "remainder_grad_y";
  static constexpr auto apply(const auto& m, auto x, auto y, auto dz) { return m.neg(m.mul(dz, m.floor_divide(x, y))); }
};
struct Pow : Row<2, true> {
  static constexpr const char* name = "pow";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.pow(x, y); }
};
struct PowGradX : Row<3> {  // y x^(y-1), 0 where y is 0
  static constexpr const char* name = "pow_grad_x";
  static constexpr auto apply(const auto& m, auto x, auto y, auto dz) {
    const auto zero = m.set(0);
    const auto derivative = m.mul(dz, m.mul(y, m.pow(x, m.sub(y, m.set(1)))));
    return m.select(m.equal(y, zero), zero, derivative);
  }
};
struct PowGradY : Row<3> {  // from x and the output z = x^y: z ln x, 0 where x is 0
  static constexpr const char* name = "pow_grad_y";
  static constexpr auto apply(const auto& m, auto x, auto z, auto dz) {
    const auto zero = m.set(0);
    return m.select(m.equal(x, zero), zero, m.mul(dz, m.mul(z, m.log(x))));
  }
};
// x^0.5 and x^-0.5: not sqrt(x) and rsqrt(x) where x is -0 or -infinity, whose powers are positive.
constexpr auto root_of(const auto& m, auto x) {
  return m.sqrt(m.select(m.equal(x, m.set(-infinity)), m.abs(x), m.add(x, m.set(0))));
}
struct PowHalf : Row<1> {
  static constexpr const char* name = "pow_half";
  static constexpr auto apply(const auto& m, auto x) { return root_of(m, x); }
};
struct PowMinusHalf : Row<1> {
  static constexpr const char* name = "pow_minus_half";
  static constexpr auto apply(const auto& m, auto x) { return m.div(m.set(1), root_of(m, x)); }
};
struct Maximum : Row<2, true> {
  static constexpr const char* name = "maximum";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.max(x, y); }
};
struct Minimum : Row<2, true> {
  static constexpr const char* name = "minimum";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.min(x, y); }
};
struct LargerGrad : Row<3> {  // of maximum in its first input: dz where x > y, half of it where they are equal
  static constexpr const char* name = "larger_grad";
  static constexpr auto apply(const auto& m, auto x, auto y, auto dz) {
    const auto half = m.mul(m.set(0.5), dz);
    return m.select(m.less(y, x), dz, m.select(m.equal(x, y), half, m.set(0)));
  }
};
struct Same : Row<2, true> {  // equal, where NaN is equal to NaN
  static constexpr const char* name = "same";
  static constexpr auto apply(const auto& m, auto x, auto y) {
    const auto one = m.set(1), zero = m.set(0);
    const auto both_nan = m.select(m.equal(x, x), zero, m.select(m.equal(y, y), zero, one));
    return m.select(m.equal(x, y), one, both_nan);
  }
};
struct FiniteOrZero : Row<1> {  // x, or 0 where x is infinite or NaN
  static constexpr const char* name = "finite_or_zero";
  static constexpr auto apply(const auto& m, auto x) { return m.select(m.equal(m.sub(x, x), m.set(0)), x, m.set(0)); }
};
struct ExpOfDifference : Row<2> {  // e^(x - y)
  static constexpr const char* name = "exp_of_difference";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.exp(m.sub(x, y)); }
};
struct LogsumexpGrad : Row<3> {  // from the output: e^(x - y), which is 0 for a term e^-inf and 1 for the only term
  static constexpr const char* name = "logsumexp_grad";
  static constexpr auto apply(const auto& m, auto x, auto y, auto dy) {
    const auto share = m.select(m.equal(x, y), m.set(1), m.exp(m.sub(x, y)));
    return m.select(m.equal(x, m.set(-infinity)), m.set(0), m.mul(dy, share));
  }
};
struct Where : Row<3, true, true> {  // x where the condition is not 0, else y
  static constexpr const char* name = "where";
  static constexpr auto apply(const auto& m, auto condition, auto x, auto y) {
    return m.select(m.equal(condition, m.set(0)), y, x);
  }
};
struct SelectNonzero : Row<2> {  // dx where the condition is not 0: the gradient of where in its second input
  static constexpr const char* name = "select_nonzero";
  static constexpr auto apply(const auto& m, auto condition, auto dx) {
    return m.select(m.equal(condition, m.set(0)), m.set(0), dx);
  }
};
struct SelectZero : Row<2> {  // dx where the condition is 0: the gradient of where in its third input
  static constexpr const char* name = "select_zero";
  static constexpr auto apply(const auto& m, auto condition, auto dx) {
    return m.select(m.equal(condition, m.set(0)), dx, m.set(0));
  }
};
struct HalfSquaredError : Row<2> {  // (x - y)^2 / 2
  static constexpr const char* name = "half_squared_error";
  static constexpr auto apply(const auto& m, auto x, auto y) {
    const auto difference = m.sub(x, y);
    return m.mul(m.set(0.5), m.mul(difference, difference));
  }
};
struct HalfSquaredErrorGradX : Row<3> {  // x - y; the gradient in y is that of x with the inputs exchanged
  static constexpr const char* name = "half_squared_error_grad_x";
  static constexpr auto apply(const auto& m, auto x, auto y, auto dz) { return m.mul(dz, m.sub(x, y)); }
};
struct AbsoluteError : Row<2> {
  static constexpr const char* name = "absolute_error";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.abs(m.sub(x, y)); }
};
struct AbsoluteErrorGradX : Row<3> {  // the sign of x - y; the gradient in y is that of x with the inputs exchanged
  static constexpr const char* name = "absolute_error_grad_x";
  static constexpr auto apply(const auto& m, auto x, auto y, auto dz) {
    return m.select(m.less(x, y), m.neg(dz), m.select(m.less(y, x), dz, m.set(0)));
  }
};
// Huber, "Robust Estimation of a Location Parameter", 1964: x^2 / 2 up to delta, and from there on a line.
struct Huber : Row<2> {
  static constexpr const char* name = "huber";
  static constexpr auto apply(const auto& m, auto x, auto delta) {
    const auto size = m.abs(x);
    const auto half = m.set(0.5);
    return m.select(m.less(delta, size), m.mul(delta, m.sub(size, m.mul(half, delta))), m.mul(half, m.mul(size, size)));
  }
};
struct HuberGradX : Row<3> {  // x, or delta with its sign
  static constexpr const char* name = "huber_grad_x";
  static constexpr auto apply(const auto& m, auto x, auto delta, auto dy) {
    const auto beyond = m.select(m.less(x, m.set(0)), m.neg(delta), delta);
    return m.mul(dy, m.select(m.less(delta, m.abs(x)), beyond, x));
  }
};
struct HuberGradDelta : Row<3> {  // |x| - delta beyond it
  static constexpr const char* name = "huber_grad_delta";
  static constexpr auto apply(const auto& m, auto x, auto delta, auto dy) {
    return m.mul(dy, m.max(m.sub(m.abs(x), delta), m.set(0)));
  }
};
// The cross-entropy of a probability y and sigmoid(x): log(1 + e^x) - x y, of which nothing overflows.
struct LogisticLoss : Row<2> {
  static constexpr const char* name = "logistic_loss";
  static constexpr auto apply(const auto& m, auto x, auto y) {
    const auto logarithm = m.log1p(m.exp(m.neg(m.abs(x))));
    return m.add(m.sub(m.max(x, m.set(0)), m.mul(x, y)), logarithm);
  }
};
struct LogisticLossGradX : Row<3> {
  static constexpr const char* name = "logistic_loss_grad_x";
  static constexpr auto apply(const auto& m, auto x, auto y, auto dz) { return m.mul(dz, m.sub(sigmoid_of(m, x), y)); }
};
struct NegativeProduct : Row<2> {  // the gradient of logistic_loss in y, from x
  static constexpr const char* name = "negative_product";
  static constexpr auto apply(const auto& m, auto x, auto dz) { return m.neg(m.mul(x, dz)); }
};
// A term of the divergence of Kullback and Leibler from a logarithm x to a probability y: y (log y - x), 0 where y is 0.
struct Divergence : Row<2> {
  static constexpr const char* name = "divergence";
  static constexpr auto apply(const auto& m, auto x, auto y) {
    return m.select(m.equal(y, m.set(0)), m.set(0), m.mul(y, m.sub(m.log(y), x)));
  }
};
struct DivergenceGradY : Row<3> {  // log y - x + 1, and 0 where y is 0
  static constexpr const char* name = "divergence_grad_y";
  static constexpr auto apply(const auto& m, auto x, auto y, auto dz) {
    const auto is_zero = m.equal(y, m.set(0));
    const auto logarithm = m.log(m.select(is_zero, m.set(1), y));
    return m.select(is_zero, m.set(0), m.mul(dz, m.add(m.sub(logarithm, x), m.set(1))));
  }
};

// Every row, in no particular order: a formula's id is its place here.
using Formulas =
    std::tuple<Negate, Relu, ReluGrad, Sigmoid, SigmoidGrad, Tanh, TanhGrad, Exp, Log, Square, SquareGrad, Sqrt,
               SqrtGrad, Abs, AbsGrad, Add, Subtract, Multiply, Divide, DivideGradY, Pow, PowGradX, PowGradY, Maximum,
               Minimum, LargerGrad, Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, IsNan, IsFinite,
               LogicalNot, LogicalAnd, LogicalOr, LogicalXor, Where, SelectNonzero, SelectZero, HalfSquaredError,
               HalfSquaredErrorGradX, Sin, SinGrad, Cos, CosGrad, Erf, ErfGrad, Rsqrt, RsqrtGrad, Log1p, Log1pGrad,
               Expm1, Expm1Grad, Floor, Round, Sign, Cube, CubeGrad, Softplus, SoftplusGrad, Silu, SiluGrad, Gelu,
               GeluGrad, GeluTanh, GeluTanhGrad, Hardswish, HardswishGrad, Clip, ClipGrad, Same, FiniteOrZero,
               ExpOfDifference, LogsumexpGrad, FloorDivide, Remainder, RemainderGradY, PowHalf, PowMinusHalf, Sinh,
               SinhGrad, Cosh, CoshGrad, Log2, Log2Grad, Log10, Log10Grad, Hypot, HypotGrad, LeakyRelu, LeakyReluGrad,
               LeakyReluGradSlope, Elu, EluGrad, EluGradScale, Selu, SeluGrad, Softsign, SoftsignGrad, Mish, MishGrad,
               AbsoluteError, AbsoluteErrorGradX, Huber, HuberGradX, HuberGradDelta, LogisticLoss, LogisticLossGradX,
               NegativeProduct, Divergence, DivergenceGradY>;
inline constexpr int count = std::tuple_size_v<Formulas>;

template <class Formula>
constexpr int id() {
  return detail::row_number<Formula, Formulas>;
}

}  // namespace asyncgrad::formulas
