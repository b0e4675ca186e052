// Elementwise formulas as compositions of operations: the formulas' own code, run on tensors in place of numbers.
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/elementwise/apply.h"

namespace asyncgrad::detail {

namespace {

namespace f = formulas;

// A tensor, or a number if there is none.
struct Value {
  Tensor tensor{};
  double number = 0;

  bool is_number() const { return !tensor.defined(); }
  Input input() const { return is_number() ? Input(Number{.floating = number}) : Input(tensor); }
};

template <class Formula, class... Values>
Value recorded(const Values&... values) {
  const std::array<Input, sizeof...(Values)> inputs = {values.input()...};
  return {.tensor = apply(f::id<Formula>(), inputs, Location())};
}

// The Math of the formulas, see core/backend/formulas.h. The result for numbers alone is a number.
class TensorMath {
 public:
  static constexpr bool takes_gradients = true;  // magnitude() of core/backend/formulas/row.h

  static Value set(double number) { return {.number = number}; }

  static Value add(const Value& x, const Value& y) {
    return of<f::Add>(x, y, [](double a, double b) { return a + b; });
  }
  static Value sub(const Value& x, const Value& y) {
    return of<f::Subtract>(x, y, [](double a, double b) { return a - b; });
  }
  static Value mul(const Value& x, const Value& y) {
    return of<f::Multiply>(x, y, [](double a, double b) { return a * b; });
  }
  static Value div(const Value& x, const Value& y) {
    return of<f::Divide>(x, y, [](double a, double b) { return a / b; });
  }
  static Value pow(const Value& x, const Value& y) {
    return of<f::Pow>(x, y, [](double a, double b) { return std::pow(a, b); });
  }
  static Value floor_divide(const Value& x, const Value& y) {
    return of<f::FloorDivide>(x, y, [](double a, double b) { return std::floor(a / b); });
  }
  static Value remainder(const Value& x, const Value& y) {
    return of<f::Remainder>(x, y, [](double a, double b) { return a - b * std::floor(a / b); });
  }
  static Value min(const Value& x, const Value& y) {
    return of<f::Minimum>(x, y, [](double a, double b) { return a < b || std::isnan(a) ? a : b; });
  }
  static Value max(const Value& x, const Value& y) {
    return of<f::Maximum>(x, y, [](double a, double b) { return a > b || std::isnan(a) ? a : b; });
  }
  static Value equal(const Value& x, const Value& y) {
    return of<f::Equal>(x, y, [](double a, double b) { return a == b ? 1.0 : 0.0; });
  }
  static Value less(const Value& x, const Value& y) {
    return of<f::Less>(x, y, [](double a, double b) { return a < b ? 1.0 : 0.0; });
  }

  static Value neg(const Value& x) {
    return of<f::Negate>(x, [](double a) { return -a; });
  }
  static Value flush(const Value& x) { return x; }  // its only use is speed
  static Value abs(const Value& x) {
    return of<f::Abs>(x, [](double a) { return std::abs(a); });
  }
  static Value sqrt(const Value& x) {
    return of<f::Sqrt>(x, [](double a) { return std::sqrt(a); });
  }
  static Value floor(const Value& x) {
    return of<f::Floor>(x, [](double a) { return std::floor(a); });
  }
  static Value round(const Value& x) {
    return of<f::Round>(x, [](double a) { return std::nearbyint(a); });
  }
  static Value exp(const Value& x) {
    return of<f::Exp>(x, [](double a) { return std::exp(a); });
  }
  static Value expm1(const Value& x) {
    return of<f::Expm1>(x, [](double a) { return std::expm1(a); });
  }
  static Value log(const Value& x) {
    return of<f::Log>(x, [](double a) { return std::log(a); });
  }
  static Value log1p(const Value& x) {
    return of<f::Log1p>(x, [](double a) { return std::log1p(a); });
  }
  static Value log2(const Value& x) {
    return of<f::Log2>(x, [](double a) { return std::log2(a); });
  }
  static Value log10(const Value& x) {
    return of<f::Log10>(x, [](double a) { return std::log10(a); });
  }
  static Value sin(const Value& x) {
    return of<f::Sin>(x, [](double a) { return std::sin(a); });
  }
  static Value cos(const Value& x) {
    return of<f::Cos>(x, [](double a) { return std::cos(a); });
  }
  static Value tanh(const Value& x) {
    return of<f::Tanh>(x, [](double a) { return std::tanh(a); });
  }
  static Value erf(const Value& x) {
    return of<f::Erf>(x, [](double a) { return std::erf(a); });
  }
  static Value erfc(const Value& x) { return sub(set(1), erf(x)); }

  static Value select(const Value& mask, const Value& if_true, const Value& if_false) {
    if (mask.is_number()) return mask.number != 0 ? if_true : if_false;
    return recorded<f::Where>(mask, if_true, if_false);
  }

 private:
  template <class Formula>
  static Value of(const Value& x, auto compute) {
    return x.is_number() ? set(compute(x.number)) : recorded<Formula>(x);
  }
  template <class Formula>
  static Value of(const Value& x, const Value& y, auto compute) {
    return x.is_number() && y.is_number() ? set(compute(x.number, y.number)) : recorded<Formula>(x, y);
  }
};

Value value_of(const Input& input) {
  return input.tensor == nullptr ? TensorMath::set(input.number.floating) : Value{.tensor = *input.tensor};
}

template <class Formula>
Value run(std::span<const Input> inputs) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return Formula::apply(TensorMath(), value_of(inputs[I])...);
  }
  (std::make_index_sequence<Formula::inputs>());
}

using Run = Value (*)(std::span<const Input> inputs);

template <std::size_t... I>
constexpr std::array<Run, f::count> make_runs(std::index_sequence<I...>) {
  return {&run<std::tuple_element_t<I, f::Formulas>>...};
}
constexpr std::array<Run, f::count> runs = make_runs(std::make_index_sequence<f::count>());

}  // namespace

Tensor apply_stepwise(int formula, std::span<const Input> inputs) {
  const Value value = runs[static_cast<std::size_t>(formula)](inputs);
  if (!value.is_number()) return value.tensor;
  const Tensor& like = *inputs.back().tensor;
  return full(like.shape(), value.number, {.dtype = like.dtype(), .device = like.device()}, Location());
}

}  // namespace asyncgrad::detail
