// Division that rounds down, for each instruction set that has vectors. Internal.
#include <hwy/highway.h>

#if defined(ASYNCGRAD_FLOORED_DIVISION_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ASYNCGRAD_FLOORED_DIVISION_INL
#undef ASYNCGRAD_FLOORED_DIVISION_INL
#else
#define ASYNCGRAD_FLOORED_DIVISION_INL
#endif

#include <cstdint>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// x = whole y + rest, with the quotient x / y rounded to a whole number.
template <class T>
struct Division {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  using M = hn::Mask<D>;

  V ratio, whole, rest;
  M is_exact;  // false where y is 0 or infinite, where x is infinite, and where the quotient is very large
  M is_above;  // the quotient was rounded up: the rest is not 0 and has the sign that y does not have
  M leaves_no_rest;

  // The rest is exact, because its product and sum are rounded once: it is a multiple of the last place of y, or of x,
  // and is smaller than y.
  HWY_INLINE Division(V x, V y) {
    const D d;
    const V zero = hn::Zero(d),
            largest = hn::Set(d, static_cast<T>(std::int64_t{1} << (std::numeric_limits<T>::digits - 3)));
    ratio = hn::Div(x, y);
    whole = hn::Round(ratio);
    rest = hn::NegMulAdd(whole, y, x);
    is_exact = hn::And(hn::Lt(hn::Abs(ratio), largest), hn::Eq(rest, rest));
    leaves_no_rest = hn::Eq(rest, zero);
    is_above = hn::AndNot(leaves_no_rest, hn::Xor(hn::Lt(rest, zero), hn::Lt(y, zero)));
  }

  // Where it is exact:
  HWY_INLINE V quotient() const {
    const D d;
    const V floor = hn::IfThenElse(is_above, hn::Sub(whole, hn::Set(d, T{1})), whole);
    return hn::IfThenElse(hn::Eq(floor, hn::Zero(d)), hn::CopySign(floor, ratio), floor);
  }
  HWY_INLINE V remainder(V y) const {
    const V moved = hn::IfThenElse(is_above, hn::Add(rest, y), rest);
    return hn::IfThenElse(leaves_no_rest, hn::CopySign(rest, y), moved);
  }
};

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASYNCGRAD_FLOORED_DIVISION_INL
