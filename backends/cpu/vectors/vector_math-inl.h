// The Math of formulas.h over Highway's vectors, for each instruction set. Internal. It has no simple include guard,
// because every set includes it again.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#if defined(ASYNCGRAD_VECTOR_MATH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ASYNCGRAD_VECTOR_MATH_INL
#undef ASYNCGRAD_VECTOR_MATH_INL
#else
#define ASYNCGRAD_VECTOR_MATH_INL
#endif

#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "asyncgrad/backends/cpu/vectors/error_function-inl.h"
#include "asyncgrad/backends/cpu/vectors/exponential-inl.h"
#include "asyncgrad/backends/cpu/vectors/float_power-inl.h"
#include "asyncgrad/backends/cpu/vectors/floored_division-inl.h"
#include "asyncgrad/backends/cpu/vectors/formula_tree.h"
#include "asyncgrad/backends/cpu/vectors/logarithm-inl.h"
#include "asyncgrad/backends/cpu/vectors/tanh-inl.h"
#include "asyncgrad/backends/floored_division.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct VectorMath {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  using M = hn::Mask<D>;
  static constexpr std::size_t lanes = hn::MaxLanes(D());

  static HWY_INLINE V set(double value) { return hn::Set(D(), static_cast<T>(value)); }

  static HWY_INLINE V call(Is<Primitive::add>, V x, V y) { return hn::Add(x, y); }
  static HWY_INLINE V call(Is<Primitive::sub>, V x, V y) { return hn::Sub(x, y); }
  static HWY_INLINE V call(Is<Primitive::mul>, V x, V y) { return hn::Mul(x, y); }
  static HWY_INLINE V call(Is<Primitive::div>, V x, V y) { return hn::Div(x, y); }
  static HWY_INLINE V call(Is<Primitive::neg>, V x) { return hn::Neg(x); }
  static HWY_INLINE V call(Is<Primitive::abs>, V x) { return hn::Abs(x); }
  static HWY_INLINE V call(Is<Primitive::flush>, V x) {
    return hn::IfThenZeroElse(hn::Lt(hn::Abs(x), hn::Set(D(), std::numeric_limits<T>::min())), x);
  }
  static HWY_INLINE V call(Is<Primitive::sqrt>, V x) { return hn::Sqrt(x); }
  static HWY_INLINE M call(Is<Primitive::equal>, V x, V y) { return hn::Eq(x, y); }
  static HWY_INLINE M call(Is<Primitive::less>, V x, V y) { return hn::Lt(x, y); }
  static HWY_INLINE V call(Is<Primitive::select>, M mask, V x, V y) { return hn::IfThenElse(mask, x, y); }
  static HWY_INLINE V call(Is<Primitive::floor>, V x) { return hn::Floor(x); }
  static HWY_INLINE V call(Is<Primitive::round>, V x) { return hn::Round(x); }
  static HWY_INLINE V call(Is<Primitive::tanh>, V x) { return vector_tanh<T>(x); }

  static HWY_INLINE V call(Is<Primitive::min>, V x, V y) { return or_nan(hn::Min(x, y), x, y); }
  static HWY_INLINE V call(Is<Primitive::max>, V x, V y) { return or_nan(hn::Max(x, y), x, y); }

  // Highway's functions guarantee nothing where the result is not a normal number.
  static HWY_INLINE V call(Is<Primitive::exp>, V x) { return exponential(x); }
  static HWY_INLINE V call(Is<Primitive::expm1>, V x) {
    return with_zeros(x, bounded_exponential(x, hn::Expm1(D(), x)));
  }
  static HWY_INLINE V call(Is<Primitive::log>, V x) {
    if constexpr (is_wide || lanes == 1) {
      return bounded_log(x, hn::Zero(D()), hn::Log(D(), x));
    } else {
      return bounded_log(x, hn::Zero(D()), log_for_base<T>(x, base_e));
    }
  }
  static HWY_INLINE V call(Is<Primitive::log1p>, V x) { return bounded_log(x, set(-1), hn::Log1p(D(), x)); }
  static HWY_INLINE V call(Is<Primitive::log2>, V x) {
    if constexpr (lanes == 1) {
      return by_lane([](T lane) { return std::log2(lane); }, x);
    } else {
      return bounded_log(x, hn::Zero(D()), log_for_base<T>(x, base_2<T>));
    }
  }
  static HWY_INLINE V call(Is<Primitive::log10>, V x) {
    if constexpr (lanes == 1) {
      return by_lane([](T lane) { return std::log10(lane); }, x);
    } else {
      return bounded_log(x, hn::Zero(D()), log_for_base<T>(x, base_10<T>));
    }
  }
  static HWY_INLINE V call(Is<Primitive::sin>, V x) {
    return with_zeros(x, or_by_lane(
                             reduces_well(x), hn::Sin(D(), x), [](T lane) { return std::sin(lane); }, x));
  }
  static HWY_INLINE V call(Is<Primitive::cos>, V x) {
    return or_by_lane(
        reduces_well(x), hn::Cos(D(), x), [](T lane) { return std::cos(lane); }, x);
  }

  static HWY_INLINE V call(Is<Primitive::erf>, V x) {
    if constexpr (lanes == 1) {
      return by_lane([](T lane) { return std::erf(lane); }, x);
    } else {
      return vector_erf<T>(x);
    }
  }
  static HWY_INLINE V call(Is<Primitive::erfc>, V x) {
    if constexpr (lanes == 1) {
      return by_lane([](T lane) { return std::erfc(lane); }, x);
    } else {
      return vector_erfc<T>(x);
    }
  }
  static HWY_INLINE V call(Is<Primitive::floor_divide>, V x, V y) {
    const auto of_lanes = [](T a, T b) { return floored_quotient(a, b); };
    if constexpr (lanes == 1) {
      return by_lane(of_lanes, x, y);
    } else {
      const Division<T> division(x, y);
      return or_by_lane(division.is_exact, division.quotient(), of_lanes, x, y);
    }
  }
  static HWY_INLINE V call(Is<Primitive::remainder>, V x, V y) {
    const auto of_lanes = [](T a, T b) { return floored_remainder(a, b); };
    if constexpr (lanes == 1) {
      return by_lane(of_lanes, x, y);
    } else {
      const Division<T> division(x, y);
      return or_by_lane(division.is_exact, division.remainder(y), of_lanes, x, y);
    }
  }
  // An exact power has many special cases, but mostly there is no 0, infinity or NaN. The power of float64 needs more
  // digits than Highway's log has.
  static HWY_INLINE V call(Is<Primitive::pow>, V x, V y) {
    const auto of_lanes = [](T base, T exponent) { return std::pow(base, exponent); };
    if constexpr (is_wide || lanes == 1) {
      return by_lane(of_lanes, x, y);
    } else {
      const V magnitude = hn::Abs(x);
      const M is_frequent = hn::And(hn::And(hn::Gt(magnitude, hn::Zero(D())), hn::Lt(magnitude, infinity())),
                                    hn::Lt(hn::Abs(y), infinity()));
      return or_by_lane(is_frequent, with_sign_of_power(x, y, float_power(magnitude, y)), of_lanes, x, y);
    }
  }

 private:
  static constexpr bool is_wide = sizeof(T) == 8;

  static HWY_INLINE V infinity() { return set(std::numeric_limits<double>::infinity()); }
  // Corrects y = log(x - pole) at the pole, below it, for infinity and for NaN.
  static HWY_INLINE V bounded_log(V x, V pole, V y) {
    const V finite = hn::IfThenElse(hn::Lt(x, infinity()), y, x);
    const V from_pole = hn::IfThenElse(hn::Eq(x, pole), hn::Neg(infinity()), finite);
    return hn::IfThenElse(hn::Lt(x, pole), set(std::numeric_limits<double>::quiet_NaN()), from_pole);
  }
  // True where Highway's sine and cosine find the quadrant with enough digits.
  static HWY_INLINE M reduces_well(V x) { return hn::Le(hn::Abs(x), set(39000)); }

  // function(x), or function(x, y), lane by lane.
  template <class Function>
  static HWY_NOINLINE V by_lane(Function function, V x) {
    HWY_ALIGN T values[lanes];
    hn::Store(x, D(), values);
    for (T& value : values) value = function(value);
    return hn::Load(D(), values);
  }
  template <class Function>
  static HWY_NOINLINE V by_lane(Function function, V x, V y) {
    HWY_ALIGN T values[lanes];
    HWY_ALIGN T others[lanes];
    hn::Store(x, D(), values);
    hn::Store(y, D(), others);
    for (std::size_t i = 0; i < lanes; ++i) values[i] = function(values[i], others[i]);
    return hn::Load(D(), values);
  }
  // y where x is not 0, otherwise x, which keeps the sign of the zero: for functions whose derivative at 0 is 1.
  static HWY_INLINE V with_zeros(V x, V y) { return hn::IfThenElse(hn::Eq(x, hn::Zero(D())), x, y); }
  // `value` where `good`, else function(x…).
  template <class Function, class... X>
  static HWY_INLINE V or_by_lane(M good, V value, Function function, X... x) {
    if (HWY_LIKELY(hn::AllTrue(D(), good))) return value;
    return hn::IfThenElse(good, value, by_lane(function, x...));
  }
  // Turns |x|^y into x^y: for a negative x the power is negative if y is odd, and NaN unless y is an integer.
  static HWY_INLINE V with_sign_of_power(V x, V y, V power) {
    const M is_negative = hn::Lt(x, hn::Zero(D()));
    if (HWY_LIKELY(hn::AllFalse(D(), is_negative))) return power;
    const V half = hn::Mul(y, set(0.5));
    const M is_even = hn::Eq(hn::Floor(half), half);
    const V of_integer = hn::IfThenElse(is_even, power, hn::Neg(power));
    const V of_negative =
        hn::IfThenElse(hn::Eq(hn::Floor(y), y), of_integer, set(std::numeric_limits<double>::quiet_NaN()));
    return hn::IfThenElse(is_negative, of_negative, power);
  }
  static HWY_INLINE V or_nan(V result, V x, V y) {
    return hn::IfThenElse(hn::Eq(x, x), hn::IfThenElse(hn::Eq(y, y), result, y), x);
  }
};

// The value of a formula's tree for inputs x.
template <class Math, class V, int Index>
HWY_INLINE V evaluate(Math, Input<Index>, const V* x) {
  return x[Index];
}
template <class Math, class V>
HWY_INLINE V evaluate(Math, Constant constant, const V*) {
  return Math::set(constant.value);
}
template <class Math, class V, Primitive P, class A>
HWY_INLINE auto evaluate(Math m, const Call<P, A>& node, const V* x) {
  return Math::call(Is<P>(), evaluate(m, std::get<0>(node.parts), x));
}
template <class Math, class V, Primitive P, class A, class B>
HWY_INLINE auto evaluate(Math m, const Call<P, A, B>& node, const V* x) {
  return Math::call(Is<P>(), evaluate(m, std::get<0>(node.parts), x), evaluate(m, std::get<1>(node.parts), x));
}
template <class Math, class V, Primitive P, class A, class B, class C>
HWY_INLINE auto evaluate(Math m, const Call<P, A, B, C>& node, const V* x) {
  return Math::call(Is<P>(), evaluate(m, std::get<0>(node.parts), x), evaluate(m, std::get<1>(node.parts), x),
                    evaluate(m, std::get<2>(node.parts), x));
}
template <class Math, class V, class Body, class... Values, std::size_t... K>
HWY_INLINE auto evaluate_once(Math m, const Once<Body, Values...>& node, const V* x, std::index_sequence<K...>) {
  const V values[] = {evaluate(m, std::get<K>(node.values), x)...};
  return evaluate(m, node.body, values);
}
template <class Math, class V, class Body, class... Values>
HWY_INLINE auto evaluate(Math m, const Once<Body, Values...>& node, const V* x) {
  return evaluate_once(m, node, x, std::make_index_sequence<sizeof...(Values)>());
}

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASYNCGRAD_VECTOR_MATH_INL
