// Cumulative sums along an axis, in float64 for floating types; those of int64 wrap around.
#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/rows/cumsum_loops.h"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail {

namespace {

void run_cumsum(const KernelCall& call, int tile) {
  const bool from_end = call.attributes<CumsumAttributes>().from_end;
  visit_arithmetic(call.dtype(0), [&]<class T>(T) {
    const T* const in = call.data<T>(1);
    T* const out = call.data<T>(0);
    const CumsumLoops<T>& loops = cumsum_loops().of<T>();
    each_strip<CumsumAttributes>(
        call, tile, in,
        [&](const Strip<T>& strip, std::int64_t) { loops.rows(strip, out + (strip.data - in), from_end); },
        [&](const Strip<T>& strip, std::int64_t) { loops.columns(strip, out + (strip.data - in), from_end); });
  });
}

}  // namespace

constinit const Kernel cpu_kernels::cumsum{.run = run_cumsum, .tiles = strip_tiles<CumsumAttributes>};

}  // namespace asyncgrad::detail
