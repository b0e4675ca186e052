// Formulas of activations. See ../formulas.h.
#pragma once

#include "asyncgrad/core/backend/formulas/functions.h"
#include "asyncgrad/core/backend/formulas/row.h"

namespace asyncgrad::formulas {

struct Relu : Row<1, true> {
  static constexpr const char* name = "relu";
  static constexpr auto apply(const auto& m, auto x) { return m.max(x, m.set(0)); }
};
struct ReluGrad : Row<2> {  // from the output: y > 0
  static constexpr const char* name = "relu_grad";
  static constexpr auto apply(const auto& m, auto y, auto dy) { return m.select(m.less(m.set(0), y), dy, m.set(0)); }
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

struct Tanh : Row<1> {
  static constexpr const char* name = "tanh";
  static constexpr auto apply(const auto& m, auto x) { return m.tanh(x); }
};
struct TanhGrad : Row<2> {  // from the output: 1 - y^2
  static constexpr const char* name = "tanh_grad";
  static constexpr auto apply(const auto& m, auto y, auto dy) { return m.mul(dy, m.sub(m.set(1), m.mul(y, y))); }
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

// 1 / (1 + e^-x), computed from e^-|x| so that nothing overflows. Only the sign of x is taken.
constexpr auto sigmoid_from(const auto& m, auto x, auto power) {
  return once(
      m,
      [](const auto& m, auto x, auto e) {
        return m.div(m.select(m.less(x, m.set(0)), e, m.set(1)), m.add(m.set(1), e));
      },
      x, power);
}
constexpr auto sigmoid_of(const auto& m, auto x) { return sigmoid_from(m, x, m.exp(m.neg(magnitude(m, x)))); }
struct Sigmoid : Row<1> {
  static constexpr const char* name = "sigmoid";
  static constexpr auto apply(const auto& m, auto x) { return sigmoid_of(m, x); }
};
struct SigmoidGrad : Row<2> {  // from the output: y (1 - y)
  static constexpr const char* name = "sigmoid_grad";
  static constexpr auto apply(const auto& m, auto y, auto dy) { return m.mul(dy, m.mul(y, m.sub(m.set(1), y))); }
};
struct Softplus : Row<1> {  // log(1 + e^x), by e^-|x| so that nothing overflows
  static constexpr const char* name = "softplus";
  static constexpr auto apply(const auto& m, auto x) {
    return m.add(m.max(x, m.set(0)), m.log1p(m.exp(m.neg(magnitude(m, x)))));
  }
};
struct SoftplusGrad : Row<2> {
  static constexpr const char* name = "softplus_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) { return m.mul(dy, sigmoid_of(m, x)); }
};

// x p, or 0 where p is 0, or subnormal: p vanishes faster than x grows.
constexpr auto vanishing_product(const auto& m, auto x, auto p) {
  return once(
      m, [](const auto& m, auto x, auto p) { return m.select(m.equal(p, m.set(0)), m.set(0), m.mul(x, p)); }, x,
      m.flush(p));
}
struct Silu : Row<1> {
  static constexpr const char* name = "silu";
  static constexpr auto apply(const auto& m, auto x) { return vanishing_product(m, x, sigmoid_of(m, x)); }
};
struct SiluGrad : Row<2> {  // s + x s (1 - s)
  static constexpr const char* name = "silu_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) {
    const auto s = m.flush(sigmoid_of(m, x));
    return m.mul(dy, m.add(s, vanishing_product(m, x, m.mul(s, m.sub(m.set(1), s)))));
  }
};

inline constexpr double sqrt_half = 0.70710678118654752440;
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
    return m.mul(dy, m.add(m.flush(normal_cdf(m, x)), vanishing_product(m, x, density)));
  }
};

// gelu_tanh(x) = x sigmoid(scale (x + cubic x^3)): Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016.
inline constexpr double gelu_tanh_scale = 4 * sqrt_half / sqrt_pi, gelu_tanh_cubic = 0.044715;
// The sigmoid whose product with x is gelu_tanh: (1 + tanh(u)) / 2 is sigmoid(2 u), which cancels nothing.
constexpr auto gelu_tanh_gate(const auto& m, auto x) {
  const auto cubic = m.add(m.set(1), m.mul(m.set(gelu_tanh_cubic), m.mul(x, x)));
  return sigmoid_from(m, x, m.exp(m.neg(m.mul(magnitude(m, x), m.mul(m.set(gelu_tanh_scale), cubic)))));
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
  return once(m, of_power, x, m.exp(m.neg(magnitude(m, x))));
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
    return m.mul(dy, once(m, derivative, x, m.flush(mish_gate(m, x))));
  }
};

}  // namespace asyncgrad::formulas
