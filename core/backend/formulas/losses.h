// Formulas of losses. See ../formulas.h.
#pragma once

#include "asyncgrad/core/backend/formulas/activations.h"
#include "asyncgrad/core/backend/formulas/row.h"

namespace asyncgrad::formulas {

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
    const auto logarithm = m.log1p(m.exp(m.neg(magnitude(m, x))));
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
    const auto other = m.select(is_zero, m.set(0), x);
    return m.select(is_zero, m.set(0), m.mul(dz, m.add(m.sub(logarithm, other), m.set(1))));
  }
};

}  // namespace asyncgrad::formulas
