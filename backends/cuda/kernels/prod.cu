// prod along an axis and its gradient, in float64 for floating types; products of int64 wrap around.
#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/scan.cuh"

namespace asyncgrad::detail::cuda {

namespace {

template <class T>
struct Multiplying {
  using Partial = typename Summing<T>::Partial;
  const T* in;

  __device__ Partial identity() const { return 1; }
  __device__ Partial value(std::int64_t, std::int64_t element) const { return static_cast<Partial>(in[element]); }
  __device__ Partial combine(Partial x, Partial y) const { return x * y; }
};

template <class T>
struct Product : Multiplying<T> {
  T* out;
  __device__ void finish(std::int64_t line, typename Multiplying<T>::Partial product) const {
    out[line] = static_cast<T>(product);
  }
};

void run_prod(const KernelCall& call, int) {
  visit_arithmetic(call.dtype(0), [&]<class T>(T) {
    reduce(call, lines_of(call), Product<T>{{call.data<T>(1)}, call.data<T>(0)}, call.scratch);
  });
}

// --- The gradient: dy times the product of the elements before, and then times that of the elements behind. There is no
// --- division, so that it is exact where some of them are 0.

template <class T>
struct ProductBefore : Multiplying<T> {
  const T* dy;
  double* before;

  __device__ void put(std::int64_t line, std::int64_t element, double product, double) const {
    before[element] = static_cast<double>(dy[line]) * product;
  }
};
template <class T>
struct ProductOfOthers : Multiplying<T> {
  const double* before;
  T* dx;

  __device__ void put(std::int64_t, std::int64_t element, double product, double) const {
    dx[element] = static_cast<T>(before[element] * product);
  }
};

void run_prod_grad(const KernelCall& call, int) {
  const Lines lines = lines_of(call);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    const T* const x = call.data<T>(1);
    auto* const before = reinterpret_cast<double*>(call.scratch);
    std::byte* const scratch = call.scratch + call.numel(0) * static_cast<std::int64_t>(sizeof(double));
    run_scan(call, lines, ProductBefore<T>{{x}, call.data<T>(2), before}, false, scratch);
    run_scan(call, lines, ProductOfOthers<T>{{x}, before, call.data<T>(0)}, true, scratch);
  });
}

// A float64 for each element, and for each chunk of a long line.
std::int64_t prod_grad_scratch_bytes(const KernelCall& call) {
  return call.numel(0) * static_cast<std::int64_t>(sizeof(double)) +
         scan_scratch_bytes<ProductBefore<double>>(lines_of(call));
}

}  // namespace

constinit const Kernel kernels::prod{
    .run = run_prod, .scratch_bytes = [](const KernelCall& call) { return reduce_scratch_bytes(lines_of(call)); }};
constinit const Kernel kernels::prod_grad{.run = run_prod_grad, .scratch_bytes = prod_grad_scratch_bytes};

}  // namespace asyncgrad::detail::cuda
