// The order of elements along an axis.
#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/sorted_places.cuh"
#include "asyncgrad/backends/element_types.h"
#include "asyncgrad/backends/sort_order.h"

namespace asyncgrad::detail::cuda {

namespace {

template <class T>
struct LineElements {
  const T* in;
  std::int64_t axis, inner;
  bool is_descending;

  __device__ T key(std::int64_t line, std::int64_t place) const {
    const Divided at = divided(line, inner);
    return in[(at.quotient * axis + place) * inner + at.remainder];
  }
  __device__ bool is_less(T x, T y) const { return is_descending ? detail::is_less(y, x) : detail::is_less(x, y); }
};

// The first `count` places of each line, as (outer, count, inner).
struct FirstOfLines {
  std::int64_t* out;
  const std::int64_t* sorted;
  SortAttributes a;

  __device__ void operator()(std::int64_t i) const {
    const Divided at = divided(i, a.inner), row = divided(at.quotient, a.count);
    out[i] = sorted[(row.quotient * a.inner + at.remainder) * a.axis + row.remainder];
  }
};

// 16 bytes for each element.
std::int64_t argsort_scratch_bytes(const KernelCall& call) {
  return 2 * call.numel(1) * static_cast<std::int64_t>(sizeof(std::int64_t));
}

void run_argsort(const KernelCall& call, int) {
  if (call.numel(0) == 0) return;
  const auto& a = call.attributes<SortAttributes>();
  visit_arithmetic(call.dtype(1), [&]<class T>(T) {
    const LineElements<T> keys{call.data<T>(1), a.axis, a.inner, a.is_descending};
    const SortedPlaces sorted =
        sorted_places(call, reinterpret_cast<std::int64_t*>(call.scratch), a.outer * a.inner, a.axis, keys);
    for_each(call, call.numel(0), FirstOfLines{call.data<std::int64_t>(0), sorted.places, a});
  });
}

}  // namespace

constinit const Kernel kernels::argsort{.run = run_argsort, .scratch_bytes = argsort_scratch_bytes};

}  // namespace asyncgrad::detail::cuda
