// The state of a thread while it runs kernels.
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "asyncgrad/backends/cpu/families.h"

namespace asyncgrad::detail {

namespace {

#if defined(__SSE2__)
// The mode in which a process starts: round to nearest, keep denormals, mask exceptions.
constexpr std::uint32_t default_floating_mode = 0x1F80, exception_flags = 0x3F;

std::uint32_t floating_mode() { return _mm_getcsr(); }
void set_floating_mode(std::uint32_t mode) { _mm_setcsr(mode); }
#else
constexpr std::uint32_t default_floating_mode = 0, exception_flags = 0;

std::uint32_t floating_mode() { return default_floating_mode; }
void set_floating_mode(std::uint32_t) {}
#endif

constexpr std::uint64_t is_changed = std::uint64_t{1} << 32;  // the mode before may be 0

}  // namespace

std::uint64_t enter_cpu_thread() {
  const std::uint32_t mode = floating_mode() & ~exception_flags;
  if (mode == default_floating_mode) return 0;
  set_floating_mode(default_floating_mode);
  return is_changed | mode;
}

void leave_cpu_thread(std::uint64_t previous) {
  // If the mode is unchanged, the flags that kernels raised are kept.
  if (previous != 0) set_floating_mode(static_cast<std::uint32_t>(previous));
}

}  // namespace asyncgrad::detail
