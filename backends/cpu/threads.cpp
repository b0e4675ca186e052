// What a thread is set to while it runs kernels. The only place that knows of OpenMP, which oneDNN brings along.
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "asyncgrad/backends/cpu/families.h"

// Of the libgomp that oneDNN loads; omp.h is a compiler's own and would name another runtime under clang. Both act on
// the calling thread alone.
extern "C" {
void omp_set_num_threads(int count);
int omp_get_max_threads(void);
}

namespace asyncgrad::detail {

namespace {

#if defined(__SSE2__)
// Round to nearest, denormals as they are, exceptions masked: what a process starts with.
constexpr std::uint32_t default_floating_mode = 0x1F80;

std::uint32_t floating_mode() { return _mm_getcsr(); }
void set_floating_mode(std::uint32_t mode) { _mm_setcsr(mode); }
#else
constexpr std::uint32_t default_floating_mode = 0;

std::uint32_t floating_mode() { return default_floating_mode; }
void set_floating_mode(std::uint32_t) {}
#endif

}  // namespace

std::uint64_t enter_cpu_thread() {
  const auto threads = static_cast<std::uint32_t>(omp_get_max_threads());
  const std::uint32_t mode = floating_mode();
  if (threads != 1) omp_set_num_threads(1);
  if (mode != default_floating_mode) set_floating_mode(default_floating_mode);
  return std::uint64_t{threads} << 32 | mode;
}

void leave_cpu_thread(std::uint64_t previous) {
  const auto threads = static_cast<int>(previous >> 32);
  if (threads != 1) omp_set_num_threads(threads);
  set_floating_mode(static_cast<std::uint32_t>(previous));
}

}  // namespace asyncgrad::detail
