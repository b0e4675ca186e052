#include <cmath>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/tiling.h"

namespace asyncgrad::detail {
namespace {
template <class F>
void each_line(const KernelCall& call, F f) {
  const auto& a = call.attributes<ReduceAttributes>();
  for (std::int64_t o = 0; o < a.outer; ++o)
    for (std::int64_t i = 0; i < a.inner; ++i) f(o * a.inner + i, o * a.axis * a.inner + i, a.axis, a.inner);
}
void run_sum(const KernelCall& call, int) {
  visit_dtype(call.dtype(0), [&]<class T>(T) {
    each_line(call, [&](auto line, auto first, auto n, auto stride) {
      if constexpr (std::is_integral_v<T>) {
        T s = 0;
        for (std::int64_t k = 0; k < n; ++k) s += call.data<T>(1)[first + k * stride];
        call.data<T>(0)[line] = s;
      } else {
        double s = 0;
        for (std::int64_t k = 0; k < n; ++k) s += call.data<T>(1)[first + k * stride];
        call.data<T>(0)[line] = static_cast<T>(s * call.attributes<ReduceAttributes>().scale);
      }
    });
  });
}
template <class T>
std::int64_t largest(const T* x, std::int64_t n, std::int64_t stride) {
  std::int64_t best = 0;
  for (std::int64_t k = 1; k < n; ++k) {
    const T v = x[k * stride], b = x[best * stride];
    if (v > b || (v != v && b == b)) best = k;
  }
  return best;
}
void run_max(const KernelCall& call, int) {
  visit_dtype(call.dtype(0), [&]<class T>(T) {
    each_line(call, [&](auto line, auto first, auto n, auto stride) {
      const T* x = call.data<T>(1) + first;
      call.data<T>(0)[line] = x[largest(x, n, stride) * stride];
    });
  });
}
void run_argmax(const KernelCall& call, int) {
  visit_dtype(call.dtype(1), [&]<class T>(T) {
    each_line(call, [&](auto line, auto first, auto n, auto stride) {
      call.data<std::int64_t>(0)[line] = largest(call.data<T>(1) + first, n, stride);
    });
  });
}
void run_max_grad(const KernelCall& call, int) {
  visit_floating(call.dtype(0), [&]<class T>(T) {
    each_line(call, [&](auto line, auto first, auto n, auto stride) {
      const T *x = call.data<T>(1) + first, y = call.data<T>(2)[line], dy = call.data<T>(3)[line];
      std::int64_t equal = 0;
      for (std::int64_t k = 0; k < n; ++k) equal += x[k * stride] == y || (y != y && x[k * stride] != x[k * stride]);
      for (std::int64_t k = 0; k < n; ++k) {
        const bool is = x[k * stride] == y || (y != y && x[k * stride] != x[k * stride]);
        call.data<T>(0)[first + k * stride] = is ? dy / static_cast<T>(equal) : T(0);
      }
    });
  });
}
}  // namespace
void add_reduce_kernels(Backend& backend) {
  kernel_of(backend, Op::sum) = {.run = run_sum};
  kernel_of(backend, Op::max) = {.run = run_max};
  kernel_of(backend, Op::max_grad) = {.run = run_max_grad};
  kernel_of(backend, Op::argmax) = {.run = run_argmax};
}
}  // namespace asyncgrad::detail
