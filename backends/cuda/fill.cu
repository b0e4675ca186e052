// fill, arange and copy between types.
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

// start + i step, in double for the floating types, so that errors do not add up along the way.
template <class T>
struct Arange {
  using Term = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
  T* out;
  Term start, step;
  __host__ __device__ void operator()(std::int64_t i) const {
    out[i] = static_cast<T>(start + static_cast<Term>(i) * step);
  }
};

void run_arange(const KernelCall& call, int) {
  const auto& a = call.attributes<ArangeAttributes>();
  visit_dtype(call.dtype(0), [&]<class T>(T) {
    using Term = typename Arange<T>::Term;
    for_each(call, call.numel(0), Arange<T>{call.data<T>(0), number_as<Term>(a.start), number_as<Term>(a.step)});
  });
}

template <class To, class From>
struct Copy {
  To* out;
  const From* in;
  __host__ __device__ void operator()(std::int64_t i) const { out[i] = converted<To>(in[i]); }
};

void run_copy(const KernelCall& call, int) {
  visit_dtype(call.dtype(0), [&]<class To>(To) {
    visit_dtype(call.dtype(1), [&]<class From>(From) {
      for_each(call, call.numel(0), Copy<To, From>{call.data<To>(0), call.data<From>(1)});
    });
  });
}

}  // namespace

void add_fill_kernels(Backend& backend) {
  kernel_of(backend, Op::fill) = {.run = run_fill};
  kernel_of(backend, Op::arange) = {.run = run_arange};
  kernel_of(backend, Op::copy) = {.run = run_copy};
}

}  // namespace asyncgrad::detail::cuda
