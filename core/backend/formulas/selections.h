// Formulas that give one of their inputs, or 0 in its place, and their gradients. See ../formulas.h.
#pragma once

#include "asyncgrad/core/backend/formulas/row.h"

namespace asyncgrad::formulas {

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
struct Clip : Row<3, true> {
  static constexpr const char* name = "clip";
  static constexpr auto apply(const auto& m, auto x, auto low, auto high) { return m.min(m.max(x, low), high); }
};
struct ClipGrad : Row<3> {  // from the output: dy where x was kept
  static constexpr const char* name = "clip_grad";
  static constexpr auto apply(const auto& m, auto x, auto y, auto dy) { return m.select(m.equal(x, y), dy, m.set(0)); }
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
struct FiniteOrZero : Row<1> {  // x, or 0 where x is infinite or NaN
  static constexpr const char* name = "finite_or_zero";
  static constexpr auto apply(const auto& m, auto x) { return m.select(m.equal(m.sub(x, x), m.set(0)), x, m.set(0)); }
};

}  // namespace asyncgrad::formulas
