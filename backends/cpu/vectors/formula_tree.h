// A formula of the table as a type: an expression tree that is recorded once and can then be evaluated inside functions
// that are compiled for one instruction set. (Formula::apply itself is compiled for the oldest processor, and so cannot
// take the vectors of a newer one.) Internal.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "asyncgrad/core/backend/formulas.h"

namespace asyncgrad::detail {

enum class Primitive {
  add,
  sub,
  mul,
  div,
  min,
  max,
  pow,
  floor_divide,
  remainder,
  neg,
  abs,
  flush,
  sqrt,
  floor,
  round,
  exp,
  expm1,
  log,
  log1p,
  log2,
  log10,
  sin,
  cos,
  tanh,
  erf,
  erfc,
  equal,
  less,
  select
};

// Selects a primitive in overloaded functions.
template <Primitive P>
using Is = std::integral_constant<Primitive, P>;

// The nodes of a tree.
template <int Index>
struct Input {};
struct Constant {
  double value;
};
template <Primitive P, class... Parts>
struct Call {
  std::tuple<Parts...> parts;
};

// A tree whose inputs are the values of other trees, each of which is computed once.
template <class Body, class... Values>
struct Once {
  Body body;
  std::tuple<Values...> values;
};

// The Math that records the primitives that a formula calls.
struct Recorder {
  Constant set(double value) const { return {value}; }
  auto add(auto x, auto y) const { return call<Primitive::add>(x, y); }
  auto sub(auto x, auto y) const { return call<Primitive::sub>(x, y); }
  auto mul(auto x, auto y) const { return call<Primitive::mul>(x, y); }
  auto div(auto x, auto y) const { return call<Primitive::div>(x, y); }
  auto min(auto x, auto y) const { return call<Primitive::min>(x, y); }
  auto max(auto x, auto y) const { return call<Primitive::max>(x, y); }
  auto pow(auto x, auto y) const { return call<Primitive::pow>(x, y); }
  auto floor_divide(auto x, auto y) const { return call<Primitive::floor_divide>(x, y); }
  auto remainder(auto x, auto y) const { return call<Primitive::remainder>(x, y); }
  auto neg(auto x) const { return call<Primitive::neg>(x); }
  auto abs(auto x) const { return call<Primitive::abs>(x); }
  auto flush(auto x) const { return call<Primitive::flush>(x); }
  auto sqrt(auto x) const { return call<Primitive::sqrt>(x); }
  auto exp(auto x) const { return call<Primitive::exp>(x); }
  auto log(auto x) const { return call<Primitive::log>(x); }
  auto floor(auto x) const { return call<Primitive::floor>(x); }
  auto round(auto x) const { return call<Primitive::round>(x); }
  auto expm1(auto x) const { return call<Primitive::expm1>(x); }
  auto log1p(auto x) const { return call<Primitive::log1p>(x); }
  auto log2(auto x) const { return call<Primitive::log2>(x); }
  auto log10(auto x) const { return call<Primitive::log10>(x); }
  auto sin(auto x) const { return call<Primitive::sin>(x); }
  auto cos(auto x) const { return call<Primitive::cos>(x); }
  auto tanh(auto x) const { return call<Primitive::tanh>(x); }
  auto erf(auto x) const { return call<Primitive::erf>(x); }
  auto erfc(auto x) const { return call<Primitive::erfc>(x); }
  auto equal(auto x, auto y) const { return call<Primitive::equal>(x, y); }
  auto less(auto x, auto y) const { return call<Primitive::less>(x, y); }
  auto select(auto mask, auto x, auto y) const { return call<Primitive::select>(mask, x, y); }
  template <class... Values>
  auto once(auto f, Values... values) const {
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      const auto body = f(*this, Input<static_cast<int>(K)>()...);
      return Once<std::remove_const_t<decltype(body)>, Values...>{body, {values...}};
    }
    (std::make_index_sequence<sizeof...(Values)>());
  }

 private:
  template <Primitive P, class... Parts>
  static Call<P, Parts...> call(Parts... parts) {
    return {{parts...}};
  }
};

// The tree of a formula over its inputs.
template <class Formula>
auto formula_tree() {
  if constexpr (Formula::inputs == 1) {
    return Formula::apply(Recorder(), Input<0>());
  } else if constexpr (Formula::inputs == 2) {
    return Formula::apply(Recorder(), Input<0>(), Input<1>());
  } else {
    return Formula::apply(Recorder(), Input<0>(), Input<1>(), Input<2>());
  }
}

}  // namespace asyncgrad::detail
