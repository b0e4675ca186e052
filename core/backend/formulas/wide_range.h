// Formulas whose short form overflows, cancels or rounds wrongly in a part of the range: these are accurate in all of
// it. See ../formulas.h.
#pragma once

#include "asyncgrad/core/backend/formulas/row.h"

namespace asyncgrad::formulas {

// For |x| from here on, e^-|x| is below half a unit in the last place of e^|x|, even in float64.
inline constexpr double hyperbolic_large = 20;
inline constexpr double ln_2 = 0.69314718055994530942, ln_10 = 2.30258509299404568402;

// The exponent for which the power e is computed: half of a large a, because e^a overflows before e^a / 2 does.
constexpr auto halved_if_large(const auto& m, auto a) {
  return m.select(m.less(m.set(hyperbolic_large), a), m.mul(m.set(0.5), a), a);
}
constexpr auto sinh_of(const auto& m, auto x) {
  const auto a = magnitude(m, x);
  const auto u = m.expm1(halved_if_large(m, a));  // keeps the digits near 0
  const auto from_power = [](const auto& m, auto x, auto u) {
    const auto is_large = m.less(m.set(hyperbolic_large), m.abs(x));
    const auto e = m.add(u, m.set(1));
    const auto half = m.select(m.less(x, m.set(0)), m.set(-0.5), m.set(0.5));
    const auto factor = m.select(is_large, e, m.add(m.set(1), m.div(m.set(1), e)));
    const auto y = m.mul(m.mul(half, factor), m.select(is_large, e, u));  // e^2 / 2, or (1 + 1 / e) u / 2
    return with_zero_of(m, x, y);
  };
  return once(m, from_power, x, u);
}
constexpr auto cosh_of(const auto& m, auto x) {
  const auto a = magnitude(m, x);
  const auto e = m.exp(halved_if_large(m, a));
  const auto small = m.mul(m.set(0.5), m.add(e, m.div(m.set(1), e)));
  return m.select(m.less(m.set(hyperbolic_large), a), m.mul(m.mul(m.set(0.5), e), e), small);
}
struct Sinh : Row<1> {
  static constexpr const char* name = "sinh";
  static constexpr auto apply(const auto& m, auto x) { return sinh_of(m, x); }
};
struct SinhGrad : Row<2> {  // cosh x
  static constexpr const char* name = "sinh_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) { return m.mul(dy, cosh_of(m, x)); }
};
struct Cosh : Row<1> {
  static constexpr const char* name = "cosh";
  static constexpr auto apply(const auto& m, auto x) { return cosh_of(m, x); }
};
struct CoshGrad : Row<2> {  // sinh x
  static constexpr const char* name = "cosh_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) { return m.mul(dy, sinh_of(m, x)); }
};

struct Log2 : Row<1> {
  static constexpr const char* name = "log2";
  static constexpr auto apply(const auto& m, auto x) { return m.log2(x); }
};
struct Log2Grad : Row<2> {  // 1 / (x ln 2)
  static constexpr const char* name = "log2_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) { return m.div(dy, m.mul(x, m.set(ln_2))); }
};
struct Log10 : Row<1> {
  static constexpr const char* name = "log10";
  static constexpr auto apply(const auto& m, auto x) { return m.log10(x); }
};
struct Log10Grad : Row<2> {  // 1 / (x ln 10)
  static constexpr const char* name = "log10_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) { return m.div(dy, m.mul(x, m.set(ln_10))); }
};

// sqrt(x^2 + y^2), where no square overflows or vanishes; infinite beside an infinity, also beside NaN.
struct Hypot : Row<2> {
  static constexpr const char* name = "hypot";
  static constexpr auto apply(const auto& m, auto x, auto y) {
    const auto a = m.abs(x);
    const auto b = m.abs(y);
    const auto infinite = m.set(infinity);
    const auto large = m.max(a, b);
    const auto small = m.min(a, b);
    const auto ratio = m.div(small, large);
    const auto root = m.mul(large, m.sqrt(m.add(m.set(1), m.mul(ratio, ratio))));
    const auto finite = m.select(m.equal(small, m.set(0)), large, root);
    return m.select(m.equal(a, infinite), a, m.select(m.equal(b, infinite), b, finite));
  }
};
struct HypotGrad : Row<3> {  // from an input and the output: x / z
  static constexpr const char* name = "hypot_grad";
  static constexpr auto apply(const auto& m, auto x, auto z, auto dz) { return m.mul(dz, m.div(x, z)); }
};

}  // namespace asyncgrad::formulas
