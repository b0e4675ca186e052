// fill.
#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/for_each.cuh"

namespace asyncgrad::detail::cuda {

namespace {

template <class T>
struct Fill {
  T* out;
  T value;
  __host__ __device__ void operator()(std::int64_t i) const { out[i] = value; }
};

void run_fill(const KernelCall& call, int) {
  visit_dtype(call.dtype(0), [&]<class T>(T) {
    const T value = number_as<T>(call.attributes<FillAttributes>().value);
    for_each(call, call.numel(0), Fill<T>{call.data<T>(0), value});
  });
}

}  // namespace

void add_fill_kernels(Backend& backend) { kernel_of(backend, Op::fill) = {.run = run_fill}; }

}  // namespace asyncgrad::detail::cuda
