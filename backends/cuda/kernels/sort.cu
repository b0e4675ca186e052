// The order of elements along an axis.
#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/sorted_places.cuh"
#include "asyncgrad/backends/element_types.h"
#include "asyncgrad/core/backend/sort_order.h"

namespace asyncgrad::detail::cuda {

namespace {

template <class T>
struct LineElements {
  using Key = T;
  const T* in;
  Divisor inner;
  std::int64_t axis, step;
  bool is_descending;

  __device__ T key(std::int64_t line, std::int64_t place) const {
    const Divided at = inner(line);
    return in[(at.quotient * axis + place) * step + at.remainder];
  }
  __device__ bool is_less(T x, T y) const { return is_descending ? detail::is_less(y, x) : detail::is_less(x, y); }
};

// The first `count` places of each line, as (outer, count, inner).
struct FirstOfLines {
  std::int64_t* out;
  Divisor inner;
  std::int64_t count, step;

  template <class Key>
  __device__ void put(std::int64_t line, std::int64_t rank, std::int64_t place, Key) const {
    if (rank >= count) return;
    const Divided at = inner(line);
    out[(at.quotient * count + rank) * step + at.remainder] = place;
  }
};

std::int64_t argsort_scratch_bytes(const KernelCall& call) {
  const auto& a = call.attributes<SortAttributes>();
  std::int64_t bytes = 0;
  visit_arithmetic(call.dtype(1), [&]<class T>(T) { bytes = sort_scratch_bytes<T>(a.outer * a.inner, a.axis); });
  return bytes;
}

void run_argsort(const KernelCall& call, int) {
  if (call.numel(0) == 0) return;
  const auto& a = call.attributes<SortAttributes>();
  const Divisor inner(a.inner);
  visit_arithmetic(call.dtype(1), [&]<class T>(T) {
    sort_lines(call, call.scratch, a.outer * a.inner, a.axis,
               LineElements<T>{call.data<T>(1), inner, a.axis, a.inner, a.is_descending},
               FirstOfLines{call.data<std::int64_t>(0), inner, a.count, a.inner});
  });
}

}  // namespace

constinit const Kernel kernels::argsort{.run = run_argsort, .scratch_bytes = argsort_scratch_bytes};

}  // namespace asyncgrad::detail::cuda
