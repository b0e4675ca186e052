// Formulas of roots, powers, exponentials, logarithms, sines and the error function. Those that need care in a part of
// their range are in wide_range.h. See ../formulas.h.
#pragma once

#include "asyncgrad/core/backend/formulas/row.h"

namespace asyncgrad::formulas {

struct Sqrt : Row<1> {
  static constexpr const char* name = "sqrt";
  static constexpr auto apply(const auto& m, auto x) { return m.sqrt(x); }
};
struct SqrtGrad : Row<2> {  // from the output: 1 / (2 y)
  static constexpr const char* name = "sqrt_grad";
  static constexpr auto apply(const auto& m, auto y, auto dy) { return m.div(dy, m.mul(m.set(2), y)); }
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

struct Pow : Row<2, true> {
  static constexpr const char* name = "pow";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.pow(x, y); }
};
// y x^(y-1), 0 where y is 0, whatever dz is. Its gradient in y is 1 / x there for a positive x that is not tiny.
struct PowGradX : Row<3> {
  static constexpr const char* name = "pow_grad_x";
  static constexpr auto apply(const auto& m, auto x, auto y, auto dz) {
    const auto zero = m.set(0), one = m.set(1);
    const auto is_zero = m.equal(y, zero);
    const auto has_inverse = m.less(m.set(1e-38), m.abs(x));
    const auto base = m.select(is_zero, m.select(has_inverse, x, one), x);
    const auto is_finite = m.less(m.abs(dz), m.set(infinity));
    const auto finite_dz = m.select(is_zero, m.select(is_finite, dz, zero), dz);
    const auto derivative = m.mul(finite_dz, m.mul(y, m.pow(base, m.sub(y, one))));
    const auto at_zero = m.select(has_inverse, m.add(derivative, zero), zero);  // never -0
    return m.select(is_zero, at_zero, derivative);
  }
};
struct PowGradY : Row<3> {  // from x and the output z = x^y: z ln x, 0 where x is 0
  static constexpr const char* name = "pow_grad_y";
  static constexpr auto apply(const auto& m, auto x, auto z, auto dz) {
    const auto zero = m.set(0);
    const auto is_zero = m.equal(x, zero);
    return m.select(is_zero, zero, m.mul(dz, m.mul(z, m.log(m.select(is_zero, m.set(1), x)))));
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

struct Exp : Row<1> {
  static constexpr const char* name = "exp";
  static constexpr auto apply(const auto& m, auto x) { return m.exp(x); }
};
struct Expm1 : Row<1> {
  static constexpr const char* name = "expm1";
  static constexpr auto apply(const auto& m, auto x) { return m.expm1(x); }
};
struct Expm1Grad : Row<2> {  // e^x
  static constexpr const char* name = "expm1_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) { return m.mul(dy, m.exp(x)); }
};
struct Log : Row<1> {
  static constexpr const char* name = "log";
  static constexpr auto apply(const auto& m, auto x) { return m.log(x); }
};
struct Log1p : Row<1> {
  static constexpr const char* name = "log1p";
  static constexpr auto apply(const auto& m, auto x) { return m.log1p(x); }
};
struct Log1pGrad : Row<2> {  // 1 / (1 + x)
  static constexpr const char* name = "log1p_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) { return m.div(dy, m.add(m.set(1), x)); }
};

struct ExpOfDifference : Row<2> {  // e^(x - y)
  static constexpr const char* name = "exp_of_difference";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.exp(m.sub(x, y)); }
};
struct LogsumexpGrad : Row<3> {  // from the output: e^(x - y), which is 0 for a term e^-inf and 1 for the only term
  static constexpr const char* name = "logsumexp_grad";
  static constexpr auto apply(const auto& m, auto x, auto y, auto dy) {
    const auto zero = m.set(0);
    const auto is_all = m.equal(x, y);
    const auto share = m.select(is_all, m.set(1), m.exp(m.select(is_all, zero, m.sub(x, y))));
    return m.select(m.equal(x, m.set(-infinity)), zero, m.mul(dy, share));
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

inline constexpr double sqrt_pi = 1.7724538509055160273;
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

}  // namespace asyncgrad::formulas
