// Goes through the table of formulas.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "asyncgrad/backends/floored_division.h"
#include "asyncgrad/backends/integer_math.h"
#include "asyncgrad/core/backend/formulas.h"

namespace asyncgrad::detail {

// The Math of formulas.h on single numbers.
template <class T>
struct PlainMath {
  T set(double value) const { return static_cast<T>(value); }
  T add(T x, T y) const { return x + y; }
  T sub(T x, T y) const { return x - y; }
  T mul(T x, T y) const { return x * y; }
  T div(T x, T y) const { return x / y; }
  T min(T x, T y) const { return x != x ? x : y != y ? y : x < y ? x : y; }
  T max(T x, T y) const { return x != x ? x : y != y ? y : x > y ? x : y; }
  T pow(T x, T y) const {
    if constexpr (std::is_integral_v<T>) return IntegerMath().pow(x, y);
    return std::pow(x, y);
  }
  T floor_divide(T x, T y) const {
    if constexpr (std::is_integral_v<T>) return IntegerMath().floor_divide(x, y);
    return floored_quotient(x, y);
  }
  T remainder(T x, T y) const {
    if constexpr (std::is_integral_v<T>) return IntegerMath().remainder(x, y);
    return floored_remainder(x, y);
  }
  T neg(T x) const { return -x; }
  T flush(T x) const { return std::abs(x) < std::numeric_limits<T>::min() ? T{} : x; }
  T abs(T x) const { return std::abs(x); }
  T sqrt(T x) const { return std::sqrt(x); }
  T exp(T x) const { return std::exp(x); }
  T log(T x) const { return std::log(x); }
  T floor(T x) const { return std::floor(x); }
  T round(T x) const { return std::nearbyint(x); }
  T expm1(T x) const { return std::expm1(x); }
  T log1p(T x) const { return std::log1p(x); }
  T log2(T x) const { return std::log2(x); }
  T log10(T x) const { return std::log10(x); }
  T sin(T x) const { return std::sin(x); }
  T cos(T x) const { return std::cos(x); }
  T tanh(T x) const { return std::tanh(x); }
  T erf(T x) const { return std::erf(x); }
  T erfc(T x) const { return std::erfc(x); }
  bool equal(T x, T y) const { return x == y; }
  bool less(T x, T y) const { return x < y; }
  T select(bool mask, T x, T y) const { return mask ? x : y; }
};

// A formula for elements of type T. Tests that take it as an argument are compiled once for a type, not for a formula.
template <class T>
struct FormulaCase {
  const char* name;
  std::uint8_t id;
  unsigned inputs;
  bool is_predicate;
  // Gradients that have a zero where two terms of opposite signs meet: their error is one of dy, the last input.
  bool cancels;
  T (*apply)(const std::array<T, 3>& x);
};

template <class Formula, class T>
FormulaCase<T> case_of() {
  return {.name = Formula::name,
          .id = static_cast<std::uint8_t>(formulas::id<Formula>()),
          .inputs = Formula::inputs,
          .is_predicate = Formula::is_predicate,
          .cancels =
              std::is_same_v<Formula, formulas::SiluGrad> || std::is_same_v<Formula, formulas::GeluGrad> ||
              std::is_same_v<Formula, formulas::GeluTanhGrad> || std::is_same_v<Formula, formulas::MishGrad> ||
              std::is_same_v<Formula, formulas::LogisticLoss> || std::is_same_v<Formula, formulas::LogisticLossGradX> ||
              std::is_same_v<Formula, formulas::Divergence> || std::is_same_v<Formula, formulas::DivergenceGradY>,
          .apply = [](const std::array<T, 3>& x) -> T {
            const PlainMath<T> m;
            if constexpr (Formula::inputs == 1) return Formula::apply(m, x[0]);
            if constexpr (Formula::inputs == 2) return Formula::apply(m, x[0], x[1]);
            if constexpr (Formula::inputs == 3) return Formula::apply(m, x[0], x[1], x[2]);
          }};
}

// Calls function(FormulaCase<T>) for every formula and every type that it has.
template <class Function>
void each_formula(Function function) {
  const auto types = [&]<class Formula>() {
    function(case_of<Formula, float>());
    function(case_of<Formula, double>());
    if constexpr (Formula::integers) function(case_of<Formula, std::int64_t>());
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (types.template operator()<std::tuple_element_t<I, formulas::Formulas>>(), ...);
  }
  (std::make_index_sequence<formulas::count>());
}

}  // namespace asyncgrad::detail
