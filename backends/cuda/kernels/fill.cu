// fill, arange and copies between types.
#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/for_each.cuh"

namespace asyncgrad::detail::cuda {

namespace {

template <class T>
struct Fill {
  T* out;
  T value;
  __device__ void operator()(std::int64_t i) const { out[i] = value; }
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
  __device__ void operator()(std::int64_t i) const { out[i] = converted<T>(start + static_cast<Term>(i) * step); }
};

void run_arange(const KernelCall& call, int) {
  const auto& a = call.attributes<ArangeAttributes>();
  visit_dtype(call.dtype(0), [&]<class T>(T) {
    using Term = typename Arange<T>::Term;
    for_each(call, call.numel(0), Arange<T>{call.data<T>(0), number_as<Term>(a.start), number_as<Term>(a.step)});
  });
}

template <class To, class From>
struct Convert {
  To* out;
  const From* in;
  __device__ void operator()(std::int64_t i) const { out[i] = converted<To>(in[i]); }
};

}  // namespace

void convert(const KernelCall& call) {
  visit_dtype(call.dtype(0), [&]<class To>(To) {
    visit_dtype(call.dtype(1), [&]<class From>(From) {
      if constexpr (!std::is_same_v<To, From>) {
        for_each(call, call.numel(0), Convert<To, From>{call.data<To>(0), call.data<From>(1)});
      }
    });
  });
}

constinit const Kernel kernels::fill{.run = run_fill};
constinit const Kernel kernels::arange{.run = run_arange};

}  // namespace asyncgrad::detail::cuda
