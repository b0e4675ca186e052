// Compiled once for every instruction set.
#include "asyncgrad/backends/cpu/sequences/ctc_states.h"

#include "asyncgrad/backends/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/sequences/ctc_states.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/vectors/exponential-inl.h"
#include "asyncgrad/backends/cpu/vectors/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

using Numbers = VectorMath<double>;
inline constexpr auto state_lanes = static_cast<std::int64_t>(Numbers::lanes);
static_assert(states_with_room(1) % state_lanes == 0);

void advance(const double* before, const double* skip, double* sums, std::int64_t states) {
  const Numbers::D d;
  for (std::int64_t s = 0; s < states; s += state_lanes) {
    const auto a = hn::LoadU(d, before + s), b = hn::LoadU(d, before + s - 1),
               c = hn::Add(hn::LoadU(d, before + s - 2), hn::LoadU(d, skip + s));
    // The largest is subtracted, unless all are the logarithm of 0.
    const auto largest = hn::Max(hn::Max(hn::Max(a, b), c), Numbers::set(-1e300));
    const auto sum = hn::Add(hn::Add(exponential(hn::Sub(a, largest)), exponential(hn::Sub(b, largest))),
                             exponential(hn::Sub(c, largest)));
    hn::StoreU(hn::Add(largest, Numbers::call(Is<Primitive::log>(), sum)), d, sums + s);
  }
}

void exponentials(double* x, double shift, std::int64_t states) {
  const Numbers::D d;
  for (std::int64_t s = 0; s < states; s += state_lanes) {
    hn::StoreU(exponential(hn::Add(hn::LoadU(d, x + s), Numbers::set(shift))), d, x + s);
  }
}

CtcStates ctc_states() { return {advance, exponentials}; }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

HWY_EXPORT(ctc_states);

const CtcStates& ctc_states() {
  static const auto loops = HWY_DYNAMIC_DISPATCH(ctc_states)();
  return loops;
}

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
