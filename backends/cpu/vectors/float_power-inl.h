// The power of float32, for each instruction set that has vectors. Internal.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#if defined(ASYNCGRAD_FLOAT_POWER_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ASYNCGRAD_FLOAT_POWER_INL
#undef ASYNCGRAD_FLOAT_POWER_INL
#else
#define ASYNCGRAD_FLOAT_POWER_INL
#endif

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::Vec<hn::ScalableTag<float>>;
using Doubles = hn::Vec<hn::ScalableTag<double>>;

HWY_INLINE Doubles exp_of_product(Doubles log_x, Doubles y) {
  const hn::ScalableTag<double> d;
  // Beyond e^±200 float32 has only infinity and 0.
  return hn::Exp(d, hn::Clamp(hn::Mul(y, log_x), hn::Set(d, -200.0), hn::Set(d, 200.0)));
}

// x^y for 0 < x < inf and a finite y, in float64, where e^(y log x) has digits to spare.
HWY_INLINE Floats float_power(Floats x, Floats y) {
  const hn::ScalableTag<float> d;
  const hn::ScalableTag<double> wide;
  const auto power = [&](auto base, auto exponent) HWY_ATTR {
    return exp_of_product(hn::Log(wide, hn::PromoteTo(wide, base)), hn::PromoteTo(wide, exponent));
  };
  const hn::Half<decltype(d)> half;
  const auto low = hn::DemoteTo(half, power(hn::LowerHalf(half, x), hn::LowerHalf(half, y)));
  const auto high = hn::DemoteTo(half, power(hn::UpperHalf(half, x), hn::UpperHalf(half, y)));
  return hn::Combine(d, high, low);
}

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR

#endif  // ASYNCGRAD_FLOAT_POWER_INL
