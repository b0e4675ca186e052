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

}  // namespace asyncgrad::formulas
