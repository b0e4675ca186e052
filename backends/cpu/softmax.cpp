#include <fmt/format.h>

#include <cmath>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::detail {
namespace {
template <class F>
void each_line(const KernelCall& call, F f) {
  const auto& a = call.attributes<ReduceAttributes>();
  visit_floating(call.dtype(0), [&]<class T>(T t) {
    for (std::int64_t o = 0; o < a.outer; ++o)
      for (std::int64_t i = 0; i < a.inner; ++i) f(t, o * a.axis * a.inner + i, a.axis, a.inner);
  });
}
template <class T>
double log_sum_exp(const T* x, std::int64_t n, std::int64_t stride) {
  double m = x[0], s = 0;
  for (std::int64_t k = 0; k < n; ++k) m = std::max<double>(m, x[k * stride]);
  for (std::int64_t k = 0; k < n; ++k) s += std::exp(x[k * stride] - m);
  return m + std::log(s);
}
void run_log_softmax(const KernelCall& call, int) {
  each_line(call, [&]<class T>(T, auto first, auto n, auto stride) {
    const T* x = call.data<T>(1) + first;
    if (n == 0) return;
    const double z = log_sum_exp(x, n, stride);
    for (std::int64_t k = 0; k < n; ++k) call.data<T>(0)[first + k * stride] = static_cast<T>(x[k * stride] - z);
  });
}
void run_softmax(const KernelCall& call, int) {
  each_line(call, [&]<class T>(T, auto first, auto n, auto stride) {
    const T* x = call.data<T>(1) + first;
    if (n == 0) return;
    const double z = log_sum_exp(x, n, stride);
    for (std::int64_t k = 0; k < n; ++k)
      call.data<T>(0)[first + k * stride] = static_cast<T>(std::exp(x[k * stride] - z));
  });
}
void run_softmax_grad(const KernelCall& call, int) {
  each_line(call, [&]<class T>(T, auto first, auto n, auto stride) {
    const T *y = call.data<T>(1) + first, *dy = call.data<T>(2) + first;
    double dot = 0;
    for (std::int64_t k = 0; k < n; ++k) dot += static_cast<double>(y[k * stride]) * dy[k * stride];
    for (std::int64_t k = 0; k < n; ++k)
      call.data<T>(0)[first + k * stride] = static_cast<T>(y[k * stride] * (dy[k * stride] - dot));
  });
}
void run_log_softmax_grad(const KernelCall& call, int) {
  each_line(call, [&]<class T>(T, auto first, auto n, auto stride) {
    const T *y = call.data<T>(1) + first, *dy = call.data<T>(2) + first;
    double sum = 0;
    for (std::int64_t k = 0; k < n; ++k) sum += dy[k * stride];
    for (std::int64_t k = 0; k < n; ++k)
      call.data<T>(0)[first + k * stride] =
          static_cast<T>(dy[k * stride] - std::exp(static_cast<double>(y[k * stride])) * sum);
  });
}
void check_labels(const char* operation, const KernelCall& call) {
  const std::int64_t n = call.shape(1)[0], classes = call.shape(1)[1];
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t label = call.data<std::int64_t>(2)[i];
    if (label < 0 || label >= classes) {
      throw_error(operation, fmt::format("label {} at position {} is outside {} classes", label, i, classes));
    }
  }
}
void check_cross_entropy(const KernelCall& call) { check_labels("cross_entropy", call); }
void check_cross_entropy_grad(const KernelCall& call) { check_labels("cross_entropy_grad", call); }
void run_cross_entropy(const KernelCall& call, int) {
  const std::int64_t rows = call.shape(1)[0], n = call.shape(1)[1];
  visit_floating(call.dtype(0), [&]<class T>(T) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* x = call.data<T>(1) + r * n;
      call.data<T>(0)[r] = static_cast<T>(log_sum_exp(x, n, 1) - x[call.data<std::int64_t>(2)[r]]);
    }
  });
}
void run_cross_entropy_grad(const KernelCall& call, int) {
  const std::int64_t rows = call.shape(1)[0], n = call.shape(1)[1];
  visit_floating(call.dtype(0), [&]<class T>(T) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* x = call.data<T>(1) + r * n;
      const double z = log_sum_exp(x, n, 1), dy = call.data<T>(3)[r];
      for (std::int64_t k = 0; k < n; ++k)
        call.data<T>(0)[r * n + k] =
            static_cast<T>(dy * (std::exp(x[k] - z) - (k == call.data<std::int64_t>(2)[r] ? 1 : 0)));
    }
  });
}
}  // namespace
void add_softmax_kernels(Backend& backend) {
  kernel_of(backend, Op::softmax) = {.run = run_softmax};
  kernel_of(backend, Op::softmax_grad) = {.run = run_softmax_grad};
  kernel_of(backend, Op::log_softmax) = {.run = run_log_softmax};
  kernel_of(backend, Op::log_softmax_grad) = {.run = run_log_softmax_grad};
  kernel_of(backend, Op::cross_entropy) = {.run = run_cross_entropy, .prepare = check_cross_entropy};
  kernel_of(backend, Op::cross_entropy_grad) = {.run = run_cross_entropy_grad, .prepare = check_cross_entropy_grad};
}
}  // namespace asyncgrad::detail
