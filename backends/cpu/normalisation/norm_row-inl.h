// The operations of normalisations on a contiguous row, for each instruction set. Internal.
//
// A row is read from memory once and is in the cache from then on. So the variance can be computed from the differences
// from the mean, which loses no digits.
#include "asyncgrad/backends/cpu/vectors/rows-inl.h"

#if defined(ASYNCGRAD_NORM_ROW_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ASYNCGRAD_NORM_ROW_INL
#undef ASYNCGRAD_NORM_ROW_INL
#else
#define ASYNCGRAD_NORM_ROW_INL
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

// The sum of (x - mean)^2, in the order of row_sum().
template <class T>
HWY_INLINE double squared_distances(const T* x, T mean, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto means = hn::Set(d, mean);
  double sum = 0;
  for (std::int64_t begin = 0; begin < n; begin += block_elements) {
    Running<T> running;
    for (auto& part : running) part = hn::Zero(d);
    const auto add = [&](std::size_t v, std::int64_t i) HWY_ATTR {
      const auto distance = hn::Sub(load_up_to(means, x + i, n - i), means);
      running[v] = hn::Add(running[v], hn::Mul(distance, distance));
    };
    each_vector<T>(begin, std::min(n, begin + block_elements), add);
    sum += fold<T>(running, AddLanes());
  }
  return sum;
}

template <class T>
struct RowStatistics {
  T mean, inverse;  // 1 / sqrt(variance + epsilon)
};
// Both are 0 for a row without elements.
template <class T>
HWY_INLINE RowStatistics<T> row_statistics(const T* x, std::int64_t n, double epsilon, bool is_rms = false) {
  if (n == 0) return {};
  const auto count = static_cast<double>(n);
  const T mean = is_rms ? T{0} : static_cast<T>(row_sum(x, n) / count);
  return {mean, static_cast<T>(1 / std::sqrt(squared_distances(x, mean, n) / count + epsilon))};
}

struct GradientSums {
  double gradients, gradients_times_normal;
};

template <bool has_weight, class T>
HWY_INLINE GradientSums gradient_sums_of(const T* x, const T* dy, const T* weight, T mean, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto zero = hn::Zero(d), means = hn::Set(d, mean);
  GradientSums sums{};
  for (std::int64_t begin = 0; begin < n; begin += block_elements) {
    Running<T> gradients, products;
    for (auto& part : gradients) part = zero;
    for (auto& part : products) part = zero;
    const auto add = [&](std::size_t v, std::int64_t i) HWY_ATTR {
      const std::int64_t left = n - i;
      auto gradient = load_up_to(zero, dy + i, left);
      if constexpr (has_weight) gradient = hn::Mul(gradient, load_up_to(zero, weight + i, left));
      gradients[v] = hn::Add(gradients[v], gradient);
      products[v] = hn::Add(products[v], hn::Mul(gradient, hn::Sub(load_up_to(means, x + i, left), means)));
    };
    each_vector<T>(begin, std::min(n, begin + block_elements), add);
    sums.gradients += fold<T>(gradients, AddLanes());
    sums.gradients_times_normal += fold<T>(products, AddLanes());
  }
  return sums;
}

// The sums of g and of g (x - mean), where g is dy weight, or dy if weight is null.
template <class T>
HWY_INLINE GradientSums gradient_sums(const T* x, const T* dy, const T* weight, T mean, std::int64_t n) {
  return weight == nullptr ? gradient_sums_of<false>(x, dy, weight, mean, n)
                           : gradient_sums_of<true>(x, dy, weight, mean, n);
}

// out = (x - mean) inverse weight + bias, where null stands for no weight and no bias.
template <class T>
HWY_INLINE void normalise_row(const T* x, const RowStatistics<T>& statistics, const T* weight, const T* bias, T* out,
                              std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto means = hn::Set(d, statistics.mean), inverses = hn::Set(d, statistics.inverse);
  const auto normal = [&](auto part) HWY_ATTR { return hn::Mul(hn::Sub(part, means), inverses); };
  if (weight == nullptr && bias == nullptr) return map_row(out, n, normal, x);
  const auto scaled = [&](auto part, auto scale) HWY_ATTR { return hn::Mul(normal(part), scale); };
  if (bias == nullptr) return map_row(out, n, scaled, x, weight);
  const auto shifted = [&](auto part, auto shift) HWY_ATTR { return hn::Add(normal(part), shift); };
  if (weight == nullptr) return map_row(out, n, shifted, x, bias);
  const auto both = [&](auto part, auto scale, auto shift)
                        HWY_ATTR { return hn::Add(hn::Mul(normal(part), scale), shift); };
  map_row(out, n, both, x, weight, bias);
}

// The gradient of x: inverse (g - mean(g) - normal mean(g normal)), where g is dy weight, or dy, and normal is
// (x - mean) inverse. `sums` are the sums over all `count` elements that share the statistics. rms_norm has no mean(g).
template <class T>
class RowGradient {
 public:
  RowGradient(const RowStatistics<T>& statistics, const GradientSums& sums, std::int64_t count, bool is_rms = false)
      : mean_(statistics.mean),
        inverse_(statistics.inverse),
        mean_gradient_(is_rms ? T{0} : static_cast<T>(sums.gradients / static_cast<double>(count))),
        along_(static_cast<T>(sums.gradients_times_normal * static_cast<double>(statistics.inverse) /
                              static_cast<double>(count))) {}

  // Computes the gradient of n elements that each have a weight, or have none.
  HWY_INLINE void map(const T* x, const T* dy, const T* weight, T* dx, std::int64_t n) const {
    const auto plain = [this](auto part, auto dy_part) HWY_ATTR { return this->gradient(part, dy_part); };
    if (weight == nullptr) return map_row(dx, n, plain, x, dy);
    const auto weighted = [this](auto part, auto dy_part, auto scale)
                              HWY_ATTR { return this->gradient(part, hn::Mul(dy_part, scale)); };
    map_row(dx, n, weighted, x, dy, weight);
  }
  // Computes the gradient of n elements that share a weight.
  HWY_INLINE void map(const T* x, const T* dy, T weight, T* dx, std::int64_t n) const {
    const auto weights = hn::Set(d_, weight);
    const auto weighted = [&](auto part, auto dy_part)
                              HWY_ATTR { return this->gradient(part, hn::Mul(dy_part, weights)); };
    map_row(dx, n, weighted, x, dy);
  }

 private:
  template <class V>
  HWY_INLINE V gradient(V x, V g) const {
    const V normal = hn::Mul(hn::Sub(x, hn::Set(d_, mean_)), hn::Set(d_, inverse_));
    return hn::Mul(hn::Set(d_, inverse_),
                   hn::Sub(hn::Sub(g, hn::Set(d_, mean_gradient_)), hn::Mul(normal, hn::Set(d_, along_))));
  }

  static constexpr hn::ScalableTag<T> d_{};
  T mean_, inverse_, mean_gradient_, along_;
};

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASYNCGRAD_NORM_ROW_INL
