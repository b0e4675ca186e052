// Goes through the table of formulas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "asyncgrad/core/backend/formulas.h"

namespace asyncgrad::detail {

template <class Function, std::size_t... I>
void each_formula(Function function, std::index_sequence<I...>) {
  const auto types = [&]<class Formula>() {
    function.template operator()<Formula, float>();
    function.template operator()<Formula, double>();
    if constexpr (Formula::integers) function.template operator()<Formula, std::int64_t>();
  };
  (types.template operator()<std::tuple_element_t<I, formulas::Formulas>>(), ...);
}
// Calls function<Formula, T>() for every formula and every type that it has.
template <class Function>
void each_formula(Function function) {
  each_formula(function, std::make_index_sequence<formulas::count>());
}

}  // namespace asyncgrad::detail
