// Logarithms, for each instruction set that has vectors. Internal.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#if defined(ASYNCGRAD_LOGARITHM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ASYNCGRAD_LOGARITHM_INL
#undef ASYNCGRAD_LOGARITHM_INL
#else
#define ASYNCGRAD_LOGARITHM_INL
#endif

#include <cstdint>
#include <limits>

#include "asyncgrad/backends/cpu/vectors/polynomial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The logarithms of 2 and of e for a base. That of 2 has two parts, because it is multiplied by exponents.
struct LogBase {
  double of_2, of_2_rest, of_e;
};
inline constexpr LogBase base_e{0.693359375, -2.1219444005469058e-4, 1};  // of float32
template <class T>
inline constexpr LogBase base_2{1, 0, 1.4426950408889634};
template <class T>
inline constexpr LogBase base_10{0.30102999566398120, -2.8037281277851704e-18, 0.43429448190325183};
template <>
inline constexpr LogBase base_10<float>{0.30103000998497009, -1.4320988898e-8, 0.43429448190325183};

// log(m) for sqrt(1/2) <= m < sqrt(2). In float32, with y = m - 1, it is y - y^2 / 2 + y^3 p(y) with a polynomial p, so
// that the largest relative error is 6e-9 before rounding.
template <class T>
HWY_INLINE Lanes<T> log_near_1(Lanes<T> m) {
  const hn::ScalableTag<T> d;
  if constexpr (sizeof(T) == 4) {
    constexpr double coefficients[] = {0.3333333171, -0.2500082106, 0.2000122667, -0.1662335648,
                                       0.1420176247, -0.1316019505, 0.1276155036, -0.07634429908};
    const auto y = hn::Sub(m, hn::Set(d, T{1})), square = hn::Mul(y, y);
    const auto cube = hn::Mul(hn::Mul(square, y), polynomial<T>(coefficients, y));
    return hn::Add(y, hn::NegMulAdd(square, hn::Set(d, static_cast<T>(0.5)), cube));
  } else {
    return hn::Log(d, m);
  }
}

// log(x) for 0 < x < inf: x is m 2^e with sqrt(1/2) <= m < sqrt(2). The logarithm of m is so small that its error does
// not show beside that of 2^e, and thus powers of the base have whole logarithms.
template <class T>
HWY_INLINE Lanes<T> log_for_base(Lanes<T> x, const LogBase& base) {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> integers;
  constexpr int digits = std::numeric_limits<T>::digits;
  const auto is_denormal = hn::Lt(x, hn::Set(d, std::numeric_limits<T>::min()));
  const auto up = hn::Set(d, static_cast<T>(std::int64_t{1} << digits));
  const auto bits = hn::BitCast(integers, hn::IfThenElse(is_denormal, hn::Mul(x, up), x));
  const auto root = hn::BitCast(integers, hn::Set(d, static_cast<T>(0.70710678118654752)));
  const auto exponent = hn::ShiftRight<digits - 1>(hn::Sub(bits, root));
  const auto m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<digits - 1>(exponent)));
  const auto moved = hn::IfThenElseZero(is_denormal, hn::Set(d, static_cast<T>(digits)));
  const auto e = hn::Sub(hn::ConvertTo(d, exponent), moved);
  const auto rest = hn::Mul(log_near_1<T>(m), hn::Set(d, static_cast<T>(base.of_e)));
  return hn::MulAdd(e, hn::Set(d, static_cast<T>(base.of_2)),
                    hn::MulAdd(e, hn::Set(d, static_cast<T>(base.of_2_rest)), rest));
}

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASYNCGRAD_LOGARITHM_INL
