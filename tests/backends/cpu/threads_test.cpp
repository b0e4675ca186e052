#include <gtest/gtest.h>

#include <cfenv>
#include <limits>

#include "asyncgrad/core/backend/kernels.h"
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace asyncgrad::detail {

namespace {

#if defined(__SSE2__)
TEST(Threads, ComputeInTheDefaultFloatingModeAndGiveTheCallerItsOwnBack) {
  const Backend& backend = *make_backend(DeviceType::cpu);
  const unsigned before = _mm_getcsr();
  const unsigned flushing_upward = 0x1F80 | 0x8000 | 0x0040 | 0x4000;
  _mm_setcsr(flushing_upward);
  const std::uint64_t previous = backend.enter_thread();
  EXPECT_EQ(_mm_getcsr() & 0xFFC0U, 0x1F80U);
  volatile float smallest = std::numeric_limits<float>::min();
  EXPECT_GT(smallest / 2, 0.0F);
  backend.leave_thread(previous);
  EXPECT_EQ(_mm_getcsr() & 0xFFC0U, flushing_upward);
  _mm_setcsr(before);
}
#endif

}  // namespace

}  // namespace asyncgrad::detail
