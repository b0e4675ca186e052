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

#include "asyncgrad/backends/cpu/formula_tree.h"

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
  static HWY_INLINE V call(Is<Primitive::sqrt>, V x) { return hn::Sqrt(x); }
  static HWY_INLINE M call(Is<Primitive::equal>, V x, V y) { return hn::Eq(x, y); }
  static HWY_INLINE M call(Is<Primitive::less>, V x, V y) { return hn::Lt(x, y); }
  static HWY_INLINE V call(Is<Primitive::select>, M mask, V x, V y) { return hn::IfThenElse(mask, x, y); }
  static HWY_INLINE V call(Is<Primitive::tanh>, V x) { return hn::Tanh(D(), x); }

  static HWY_INLINE V call(Is<Primitive::min>, V x, V y) { return or_nan(hn::Min(x, y), x, y); }
  static HWY_INLINE V call(Is<Primitive::max>, V x, V y) { return or_nan(hn::Max(x, y), x, y); }

  // Highway's functions promise nothing outside of the range in which the result is an ordinary number.
  static HWY_INLINE V call(Is<Primitive::exp>, V x) {
    const V y = hn::Exp(D(), x);
    const V large = hn::IfThenElse(hn::Gt(x, set(sizeof(T) == 4 ? 89 : 710)), infinity(), y);
    return hn::IfThenElse(hn::Eq(x, x), large, x);
  }
  static HWY_INLINE V call(Is<Primitive::log>, V x) {
    const V y = hn::IfThenElse(hn::Lt(x, infinity()), hn::Log(D(), x), x);
    const V zero = hn::Zero(D());
    const V positive = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity()), y);
    return hn::IfThenElse(hn::Lt(x, zero), set(std::numeric_limits<double>::quiet_NaN()), positive);
  }

  // Computes lane by lane, because an exact power has many cases, none of which is frequent.
  static HWY_INLINE V call(Is<Primitive::pow>, V x, V y) {
    HWY_ALIGN T base[lanes];
    HWY_ALIGN T exponent[lanes];
    hn::Store(x, D(), base);
    hn::Store(y, D(), exponent);
    for (std::size_t i = 0; i < lanes; ++i) base[i] = std::pow(base[i], exponent[i]);
    return hn::Load(D(), base);
  }

 private:
  static HWY_INLINE V infinity() { return set(std::numeric_limits<double>::infinity()); }
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

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASYNCGRAD_VECTOR_MATH_INL
