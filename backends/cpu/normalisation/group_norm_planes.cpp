// Compiled once for every instruction set. The statistics are those of norm_rows.cpp; weight and bias are numbers that
// all elements of a plane share.
#include "asyncgrad/backends/cpu/normalisation/group_norm_planes.h"

#include "asyncgrad/backends/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/normalisation/group_norm_planes.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/normalisation/norm_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

// The first channel of a row's group, and the elements of a row.
template <class T>
std::int64_t first_channel(const GroupNormBlock<T>& b, std::int64_t row) {
  return (b.group + row) % b.groups * b.channels;
}
template <class T>
std::int64_t width(const GroupNormBlock<T>& b) {
  return b.channels * b.inner;
}

template <class T>
HWY_INLINE void normalise_planes(const GroupNormBlock<T>& b, std::int64_t row, const RowStatistics<T>& statistics) {
  const hn::ScalableTag<T> d;
  const auto means = hn::Set(d, statistics.mean), inverses = hn::Set(d, statistics.inverse);
  const std::int64_t first = first_channel(b, row);
  for (std::int64_t channel = 0; channel < b.channels; ++channel) {
    const auto weight = hn::Set(d, b.weight == nullptr ? T{1} : b.weight[first + channel]);
    const auto bias = hn::Set(d, b.bias == nullptr ? T{0} : b.bias[first + channel]);
    const auto scaled = [&](auto part) HWY_ATTR {
      return hn::Add(hn::Mul(hn::Mul(hn::Sub(part, means), inverses), weight), bias);
    };
    const std::int64_t plane = (row * b.channels + channel) * b.inner;
    map_row(b.out + plane, b.inner, scaled, b.x + plane);
  }
}

// Planes of one element are a row whose elements have a weight each.
template <class T>
HWY_INLINE const T* weights_of_row(const T* weights, const GroupNormBlock<T>& b, std::int64_t row) {
  return weights == nullptr ? nullptr : weights + first_channel(b, row);
}

template <class T>
void forward(const GroupNormBlock<T>& b) {
  for (std::int64_t row = 0; row < b.rows; ++row) {
    const T* const x = b.x + row * width(b);
    const RowStatistics<T> statistics = row_statistics(x, width(b), b.epsilon);
    b.mean[row] = statistics.mean;
    b.inverse[row] = statistics.inverse;
    if (b.inner == 1) {
      normalise_row(x, statistics, weights_of_row(b.weight, b, row), weights_of_row(b.bias, b, row),
                    b.out + row * width(b), width(b));
    } else {
      normalise_planes(b, row, statistics);
    }
  }
}

// The sums of the row are sums over its planes, which are the gradients of weight and bias.
template <class T>
HWY_INLINE void gradient_of_planes(const GroupNormBlock<T>& b, std::int64_t row, const RowStatistics<T>& statistics) {
  const std::int64_t first = first_channel(b, row);
  const auto weight_of = [&](std::int64_t channel) { return b.weight == nullptr ? T{1} : b.weight[first + channel]; };
  GradientSums sums{};
  for (std::int64_t channel = 0; channel < b.channels; ++channel) {
    const std::int64_t plane = row * b.channels + channel;
    const GradientSums part =
        gradient_sums<T>(b.x + plane * b.inner, b.dy + plane * b.inner, nullptr, statistics.mean, b.inner);
    const auto weight = static_cast<double>(weight_of(channel));
    sums.gradients += weight * part.gradients;
    sums.gradients_times_normal += weight * part.gradients_times_normal;
    if (b.dbias != nullptr) b.dbias[plane] = static_cast<T>(part.gradients);
    if (b.dweight == nullptr) continue;
    b.dweight[plane] = static_cast<T>(part.gradients_times_normal * static_cast<double>(statistics.inverse));
  }
  const RowGradient<T> gradient(statistics, sums, width(b));
  for (std::int64_t channel = 0; channel < b.channels; ++channel) {
    const std::int64_t plane = (row * b.channels + channel) * b.inner;
    gradient.map(b.x + plane, b.dy + plane, weight_of(channel), b.out + plane, b.inner);
  }
}

template <class T>
HWY_INLINE void gradient_of_elements(const GroupNormBlock<T>& b, std::int64_t row, const RowStatistics<T>& statistics) {
  const std::int64_t n = b.channels, begin = row * n;
  const T *const x = b.x + begin, *const dy = b.dy + begin, *const weight = weights_of_row(b.weight, b, row);
  const GradientSums sums = gradient_sums(x, dy, weight, statistics.mean, n);
  if (b.dbias != nullptr) std::copy_n(dy, n, b.dbias + begin);
  if (b.dweight != nullptr) normalise_row<T>(x, statistics, dy, nullptr, b.dweight + begin, n);
  RowGradient<T>(statistics, sums, n).map(x, dy, weight, b.out + begin, n);  // perhaps over dy
}

template <class T>
void backward(const GroupNormBlock<T>& b) {
  for (std::int64_t row = 0; row < b.rows; ++row) {
    const RowStatistics<T> statistics{b.mean[row], b.inverse[row]};
    if (b.inner == 1) {
      gradient_of_elements(b, row, statistics);
    } else {
      gradient_of_planes(b, row, statistics);
    }
  }
}

template <class T>
static constexpr GroupNormPlanes<T> functions{forward<T>, backward<T>};
FloatingLoops<GroupNormPlanes> group_norm_planes() { return {functions<float>, functions<double>}; }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

HWY_EXPORT(group_norm_planes);

const FloatingLoops<GroupNormPlanes>& group_norm_planes() {
  static const auto loops = HWY_DYNAMIC_DISPATCH(group_norm_planes)();
  return loops;
}

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
