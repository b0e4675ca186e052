// Polynomials, for each instruction set. Internal.
#include <hwy/highway.h>

#if defined(ASYNCGRAD_POLYNOMIAL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ASYNCGRAD_POLYNOMIAL_INL
#undef ASYNCGRAD_POLYNOMIAL_INL
#else
#define ASYNCGRAD_POLYNOMIAL_INL
#endif

#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Lanes = hn::Vec<hn::ScalableTag<T>>;

// coefficients[0] + coefficients[1] x + …. Even and odd powers are summed side by side, because each step waits for the
// one before.
template <class T, std::size_t count>
HWY_INLINE Lanes<T> polynomial(const double (&coefficients)[count], Lanes<T> x) {
  const hn::ScalableTag<T> d;
  const auto square = hn::Mul(x, x);
  auto last = hn::Set(d, static_cast<T>(coefficients[count - 1]));
  auto sum = hn::Set(d, static_cast<T>(coefficients[count - 2]));
  for (std::size_t i = count - 2; i-- > 0;) {
    const auto next = hn::MulAdd(last, square, hn::Set(d, static_cast<T>(coefficients[i])));
    last = sum;
    sum = next;
  }
  return hn::MulAdd(last, x, sum);
}

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASYNCGRAD_POLYNOMIAL_INL
