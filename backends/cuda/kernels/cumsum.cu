// Cumulative sums along an axis, in float64 for floating types; those of int64 wrap around.
#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/scan.cuh"

namespace asyncgrad::detail::cuda {

namespace {

template <class T>
struct CumulativeSum : Summing<T> {
  using Partial = typename Summing<T>::Partial;
  const T* in;
  T* out;

  __device__ Partial value(std::int64_t, std::int64_t element) const { return static_cast<Partial>(in[element]); }
  __device__ void put(std::int64_t, std::int64_t element, Partial before, Partial value) const {
    out[element] = static_cast<T>(before + value);
  }
};

Lines lines_along(const CumsumAttributes& a) { return {a.outer, a.axis, a.inner}; }

void run_cumsum(const KernelCall& call, int) {
  const auto& a = call.attributes<CumsumAttributes>();
  visit_arithmetic(call.dtype(0), [&]<class T>(T) {
    run_scan(call, lines_along(a), CumulativeSum<T>{{}, call.data<T>(1), call.data<T>(0)}, a.from_end, call.scratch);
  });
}

}  // namespace

constinit const Kernel kernels::cumsum{
    .run = run_cumsum, .scratch_bytes = [](const KernelCall& call) {
      return scan_scratch_bytes<CumulativeSum<double>>(lines_along(call.attributes<CumsumAttributes>()));
    }};

}  // namespace asyncgrad::detail::cuda
