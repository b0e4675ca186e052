// Formulas that give 1 or 0. See ../formulas.h.
#pragma once

#include "asyncgrad/core/backend/formulas/row.h"

namespace asyncgrad::formulas {

// A row that gives 1 or 0: in the type of its inputs, as formulas of gradients need it, or as bool.
template <int Inputs>
struct Predicate : Row<Inputs, true, true> {
  static constexpr bool is_predicate = true;
};

struct Equal : Predicate<2> {
  static constexpr const char* name = "equal";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.select(m.equal(x, y), m.set(1), m.set(0)); }
};
struct Same : Row<2, true> {  // equal, where NaN is equal to NaN
  static constexpr const char* name = "same";
  static constexpr auto apply(const auto& m, auto x, auto y) {
    const auto one = m.set(1), zero = m.set(0);
    const auto both_nan = m.select(m.equal(x, x), zero, m.select(m.equal(y, y), zero, one));
    return m.select(m.equal(x, y), one, both_nan);
  }
};
struct Less : Predicate<2> {
  static constexpr const char* name = "less";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.select(m.less(x, y), m.set(1), m.set(0)); }
};
struct Greater : Predicate<2> {
  static constexpr const char* name = "greater";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.select(m.less(y, x), m.set(1), m.set(0)); }
};
struct NotEqual : Predicate<2> {
  static constexpr const char* name = "not_equal";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.select(m.equal(x, y), m.set(0), m.set(1)); }
};
constexpr auto at_most(const auto& m, auto x, auto y) {
  return m.select(m.less(x, y), m.set(1), m.select(m.equal(x, y), m.set(1), m.set(0)));
}
struct LessEqual : Predicate<2> {
  static constexpr const char* name = "less_equal";
  static constexpr auto apply(const auto& m, auto x, auto y) { return at_most(m, x, y); }
};
struct GreaterEqual : Predicate<2> {
  static constexpr const char* name = "greater_equal";
  static constexpr auto apply(const auto& m, auto x, auto y) { return at_most(m, y, x); }
};
struct IsNan : Predicate<1> {
  static constexpr const char* name = "isnan";
  static constexpr auto apply(const auto& m, auto x) { return m.select(m.equal(x, x), m.set(0), m.set(1)); }
};
struct IsFinite : Predicate<1> {
  static constexpr const char* name = "isfinite";
  static constexpr auto apply(const auto& m, auto x) {
    return m.select(m.equal(m.sub(x, x), m.set(0)), m.set(1), m.set(0));
  }
};
// A logical operation takes every number except 0 as true, including NaN.
struct LogicalNot : Predicate<1> {
  static constexpr const char* name = "logical_not";
  static constexpr auto apply(const auto& m, auto x) { return m.select(m.equal(x, m.set(0)), m.set(1), m.set(0)); }
};
struct LogicalAnd : Predicate<2> {
  static constexpr const char* name = "logical_and";
  static constexpr auto apply(const auto& m, auto x, auto y) {
    const auto one = m.set(1), zero = m.set(0);
    return m.select(m.equal(x, zero), zero, m.select(m.equal(y, zero), zero, one));
  }
};
struct LogicalOr : Predicate<2> {
  static constexpr const char* name = "logical_or";
  static constexpr auto apply(const auto& m, auto x, auto y) {
    const auto one = m.set(1), zero = m.set(0);
    return m.select(m.equal(x, zero), m.select(m.equal(y, zero), zero, one), one);
  }
};
struct LogicalXor : Predicate<2> {
  static constexpr const char* name = "logical_xor";
  static constexpr auto apply(const auto& m, auto x, auto y) {
    const auto one = m.set(1), zero = m.set(0);
    const auto y_is_zero = m.select(m.equal(y, zero), one, zero);
    return m.select(m.equal(x, zero), m.select(m.equal(y, zero), zero, one), y_is_zero);
  }
};

}  // namespace asyncgrad::formulas
