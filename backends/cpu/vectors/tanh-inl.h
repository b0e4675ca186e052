// The hyperbolic tangent for each instruction set. Internal.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#if defined(ASYNCGRAD_TANH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ASYNCGRAD_TANH_INL
#undef ASYNCGRAD_TANH_INL
#else
#define ASYNCGRAD_TANH_INL
#endif

#include "asyncgrad/backends/cpu/vectors/exponential-inl.h"
#include "asyncgrad/backends/cpu/vectors/polynomial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// In float32 x + x^3 P(x^2) up to 0.6, where P is off by less than a twentieth of the result's last bit, and
// (1 - e^(-2x)) / (1 + e^(-2x)) beyond.
template <class T>
HWY_INLINE Lanes<T> vector_tanh(Lanes<T> x) {
  const hn::ScalableTag<T> d;
  if constexpr (sizeof(T) == 8) {
    return hn::Tanh(d, x);
  } else {
    constexpr double series[] = {-0.33333298001754363, 0.13331924116011368, -0.053783829287969445, 0.020795968065383447,
                                 -0.005895153596168022};
    constexpr T smallest{1e-30F};  // a square that is not normal would take long
    const auto size = hn::Abs(x), one = hn::Set(d, T{1});
    const auto square = hn::Max(hn::Mul(size, size), hn::Set(d, smallest));
    const auto near = hn::MulAdd(size, hn::Mul(square, polynomial<T>(series, square)), size);
    const auto power = exponential_of_normal(hn::Max(hn::Mul(size, hn::Set(d, T{-2})), hn::Set(d, T{-40})));
    const auto far = hn::Div(hn::Sub(one, power), hn::Add(one, power));
    // near for NaN, which it keeps
    return hn::CopySign(hn::IfThenElse(hn::Gt(size, hn::Set(d, T{0.6F})), far, near), x);
  }
}

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASYNCGRAD_TANH_INL
