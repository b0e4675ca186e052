// The parts that every formula is made of. See ../formulas.h.
#pragma once

#include <limits>

namespace asyncgrad::formulas {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

// The base of the rows: Row<inputs, has an int64 form, has a bool form>.
template <int Inputs, bool Integers = false, bool Booleans = false>
struct Row {
  static constexpr int inputs = Inputs;
  static constexpr bool integers = Integers, booleans = Booleans;
  static constexpr bool is_predicate = false;
};
// f(m, x…). Whatever f does with its parameters, each is computed once: a formula that is recorded as a tree has it in as
// many places as f names it, in which a compiler may not find it again. f uses nothing but its parameters.
constexpr auto once(const auto& m, auto f, auto... x) {
  if constexpr (requires { m.once(f, x...); }) {
    return m.once(f, x...);
  } else {
    return f(m, x...);
  }
}

// Where a formula is smooth at 0, and takes |x| and a sign of 0 to be accurate, gradients of its steps must not meet the
// kink of the one nor the choice of the other. Whoever takes such gradients says so by m.takes_gradients.
//
// |x|, whose derivative at 0 is 1: formulas go on as for x > 0 there.
constexpr auto magnitude(const auto& m, auto x) {
  if constexpr (requires { m.takes_gradients; }) {
    return m.select(m.less(x, m.set(0)), m.neg(x), x);
  } else {
    return m.abs(x);
  }
}
// y, but x where x is 0: y has lost the sign of that.
constexpr auto with_zero_of(const auto& m, auto x, auto y) {
  if constexpr (requires { m.takes_gradients; }) {
    return y;
  } else {
    return m.select(m.equal(x, m.set(0)), x, y);
  }
}

}  // namespace asyncgrad::formulas
