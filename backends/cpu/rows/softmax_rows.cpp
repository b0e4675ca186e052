// Compiled once for every instruction set. The largest element is subtracted first, so that nothing overflows.
#include "asyncgrad/backends/cpu/rows/softmax_rows.h"

#include <cmath>

#include "asyncgrad/backends/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/rows/softmax_rows.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/rows/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

template <class T>
void softmax(const T* x, T* out, std::int64_t n) {
  row_exp(x, row_max(x, n), out, n);
  const auto scale = hn::Set(hn::ScalableTag<T>(), static_cast<T>(1 / row_sum(out, n)));
  map_row(
      out, n, [&](auto power) HWY_ATTR { return hn::Mul(power, scale); }, out);
}

template <class T>
void softmax_grad(const T* y, const T* dy, T* dx, std::int64_t n) {
  const auto mean = hn::Set(hn::ScalableTag<T>(), static_cast<T>(row_dot(y, dy, n)));
  const auto gradient = [&](auto y_part, auto dy_part) HWY_ATTR { return hn::Mul(y_part, hn::Sub(dy_part, mean)); };
  map_row(dx, n, gradient, y, dy);
}

template <class T>
void log_softmax(const T* x, T* out, std::int64_t n) {
  const T largest = row_max(x, n);
  const hn::ScalableTag<T> d;
  const auto shift = hn::Set(d, largest);
  const auto log_sum = hn::Set(d, static_cast<T>(std::log(row_exp_sum(x, largest, n))));
  map_row(
      out, n, [&](auto part) HWY_ATTR { return hn::Sub(hn::Sub(part, shift), log_sum); }, x);
}

template <class T>
void log_softmax_grad(const T* y, const T* dy, T* dx, std::int64_t n) {
  constexpr std::int64_t step = 256;
  HWY_ALIGN T powers[step];
  const T sum = static_cast<T>(row_sum(dy, n));
  for (std::int64_t begin = 0; begin < n; begin += step) {
    const std::int64_t count = std::min(step, n - begin);
    row_exp(y + begin, T{0}, powers, count);
    for (std::int64_t i = 0; i < count; ++i) dx[begin + i] = dy[begin + i] - powers[i] * sum;
  }
}

template <class T>
T cross_entropy(const T* x, std::int64_t label, std::int64_t n) {
  const T largest = row_max(x, n);
  return static_cast<T>(std::log(row_exp_sum(x, largest, n)) - static_cast<double>(x[label] - largest));
}

template <class T>
void cross_entropy_grad(const T* x, std::int64_t label, T dy, T* dx, std::int64_t n) {
  softmax(x, dx, n);
  for (std::int64_t i = 0; i < n; ++i) dx[i] = dy * (i == label ? dx[i] - 1 : dx[i]);
}

template <class T>
constexpr SoftmaxRows<T> functions{softmax<T>,          softmax_grad<T>,  log_softmax<T>,
                                   log_softmax_grad<T>, cross_entropy<T>, cross_entropy_grad<T>};
FloatingLoops<SoftmaxRows> softmax_rows() { return {functions<float>, functions<double>}; }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

HWY_EXPORT(softmax_rows);

const FloatingLoops<SoftmaxRows>& softmax_rows() {
  static const auto loops = HWY_DYNAMIC_DISPATCH(softmax_rows)();
  return loops;
}

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
