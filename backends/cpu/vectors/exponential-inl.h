// e^x, for each instruction set. Internal.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#if defined(ASYNCGRAD_EXPONENTIAL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ASYNCGRAD_EXPONENTIAL_INL
#undef ASYNCGRAD_EXPONENTIAL_INL
#else
#define ASYNCGRAD_EXPONENTIAL_INL
#endif

#include <cstdint>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// e^x of float32 for -170 < x < 90, or for -87 < x < 88 if it is normal: 2^n e^r with |r| <= ln(2) / 2.
template <bool is_normal = false, class V>
HWY_INLINE V float_exponential(V x) {
  const hn::ScalableTag<float> d;
  const hn::ScalableTag<std::int32_t> integers;
  constexpr std::int32_t bits_of_magic = 0x4B400000, bias = 127;
  const V magic = hn::Set(d, 12582912);  // 1.5 2^23: the last bits of a sum with it are the other term, rounded
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504F), magic), whole = hn::Sub(shifted, magic);
  const V r =
      hn::MulAdd(whole, hn::Set(d, -1.428606765330187045e-6F), hn::MulAdd(whole, hn::Set(d, -0.693145751953125F), x));
  // (e^r - 1 - r) / r^2, with an error in e^r of a sixteenth of its last bit.
  const V square = hn::Mul(r, r);
  const V last = hn::MulAdd(hn::Set(d, 1.3814593e-3F), square, hn::Set(d, 4.1668389e-2F));
  const V odd = hn::MulAdd(hn::Set(d, 8.3687194e-3F), square, hn::Set(d, 0.16666521F));
  const V series = hn::MulAdd(odd, r, hn::MulAdd(last, square, hn::Set(d, 0.49999994F)));
  const V power = hn::Add(hn::MulAdd(series, square, r), hn::Set(d, 1));
  const auto n = hn::Sub(hn::BitCast(integers, shifted), hn::Set(integers, bits_of_magic));
  if constexpr (is_normal) return hn::BitCast(d, hn::Add(hn::BitCast(integers, power), hn::ShiftLeft<23>(n)));
  // 2^n may be out of range: half of n is added to the exponent, and 2 to the power of the rest is a factor.
  const auto half = hn::ShiftRight<1>(n);
  const auto scaled = hn::Add(hn::BitCast(integers, power), hn::ShiftLeft<23>(half));
  const auto factor = hn::ShiftLeft<23>(hn::Add(hn::Sub(n, half), hn::Set(integers, bias)));
  return hn::Mul(hn::BitCast(d, scaled), hn::BitCast(d, factor));
}

// e^x for -170 < x < 90, of float64 for -1000 < x < 706. Elsewhere, and for NaN, it may be anything.
template <class V>
HWY_INLINE V exponential_of_moderate(V x) {
  if constexpr (sizeof(hn::TFromV<V>) == 4) {
    return float_exponential(x);
  } else {
    return hn::Exp(hn::ScalableTag<hn::TFromV<V>>(), x);
  }
}

// The same where e^x is a normal number: for -87 < x < 88, of float64 for -708 < x < 706.
template <class V>
HWY_INLINE V exponential_of_normal(V x) {
  if constexpr (sizeof(hn::TFromV<V>) == 4) {
    return float_exponential<true>(x);
  } else {
    return exponential_of_moderate(x);
  }
}

// Corrects y = e^x, or e^x - 1, for a large x and for NaN: Highway's functions guarantee nothing there.
template <class V>
HWY_INLINE V bounded_exponential(V x, V y) {
  using T = hn::TFromV<V>;
  const hn::ScalableTag<T> d;
  const V infinity = hn::Set(d, std::numeric_limits<T>::infinity());
  const V large = hn::IfThenElse(hn::Gt(x, hn::Set(d, T{sizeof(T) == 4 ? 89 : 710})), infinity, y);
  return hn::IfThenElse(hn::Eq(x, x), large, x);
}

// e^x: 0 and infinity where these are nearest, NaN of NaN.
template <class V>
HWY_INLINE V exponential(V x) {
  using T = hn::TFromV<V>;
  const hn::ScalableTag<T> d;
  if constexpr (sizeof(T) == 4) {
    // An x whose power is 0 is left out, as products that are not normal numbers take long.
    const auto is_some = hn::Ge(x, hn::Set(d, T{-104}));
    const V y = float_exponential(hn::IfThenElseZero(is_some, hn::Min(x, hn::Set(d, T{89}))));
    return hn::IfThenElse(hn::Eq(x, x), hn::IfThenElseZero(is_some, y), x);
  } else {
    return bounded_exponential(x, hn::Exp(d, x));
  }
}

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASYNCGRAD_EXPONENTIAL_INL
