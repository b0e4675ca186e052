// Compiled once for every instruction set.
#include "asyncgrad/backends/cpu/sequences/attention_rows.h"

#include <cmath>

#include "asyncgrad/backends/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/sequences/attention_rows.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/vectors/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

template <class T>
inline constexpr T hidden = -std::numeric_limits<T>::infinity();

// scale (q k^T) + mask of the visible columns.
template <class T>
void finish_scores(const ScoreRow<T>& row) {
  const hn::ScalableTag<T> d;
  const auto scale = hn::Set(d, row.scale);
  if (row.mask == nullptr) {
    const auto scaled = [&](auto part) HWY_ATTR { return hn::Mul(part, scale); };
    return map_row(row.scores, row.visible, scaled, row.scores);
  }
  if (row.mask_step == 0) {
    const auto shift = hn::Set(d, *row.mask);
    const auto shifted = [&](auto part) HWY_ATTR { return hn::Add(hn::Mul(part, scale), shift); };
    return map_row(row.scores, row.visible, shifted, row.scores);
  }
  const auto masked = [&](auto part, auto mask) HWY_ATTR { return hn::Add(hn::Mul(part, scale), mask); };
  map_row(row.scores, row.visible, masked, row.scores, row.mask);
}

template <class T>
void scale(T* out, T factor, std::int64_t n) {
  const auto factors = hn::Set(hn::ScalableTag<T>(), factor);
  map_row(
      out, n, [&](auto part) HWY_ATTR { return hn::Mul(part, factors); }, out);
}

template <class T>
T powers(const ScoreRow<T>& row, T& maximum, double& sum) {
  finish_scores(row);
  std::fill_n(row.scores + row.visible, row.n - row.visible, T{0});
  if (row.visible == 0) return 1;
  const T before = maximum;
  maximum = Extreme<true>::of(row_extreme<true>(row.scores, row.visible), before);
  if (maximum == hidden<T>) {
    std::fill_n(row.scores, row.visible, T{0});
    return 1;
  }
  row_exp(row.scores, maximum, row.scores, row.visible);
  const T factor = before == hidden<T> ? T{0} : std::exp(before - maximum);
  sum = sum * static_cast<double>(factor) + row_sum(row.scores, row.visible);
  return factor;
}

template <class T>
void shares(const ScoreRow<T>& row, T log_sum) {
  std::fill_n(row.scores + row.visible, row.n - row.visible, T{0});
  if (log_sum == hidden<T>) {
    std::fill_n(row.scores, row.visible, T{0});
    return;
  }
  finish_scores(row);
  row_exp(row.scores, log_sum, row.scores, row.visible);
}

template <class T>
void gradients(const T* shares, T* gradients, T mean, T scale, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto means = hn::Set(d, mean), scales = hn::Set(d, scale);
  const auto gradient = [&](auto share, auto part)
                            HWY_ATTR { return hn::Mul(hn::Mul(share, hn::Sub(part, means)), scales); };
  map_row(gradients, n, gradient, shares, gradients);
}

template <class T>
void scale_and_add(T* out, T factor, const T* more, std::int64_t n) {
  const auto factors = hn::Set(hn::ScalableTag<T>(), factor);
  const auto sum = [&](auto part, auto added) HWY_ATTR { return hn::Add(hn::Mul(part, factors), added); };
  map_row(out, n, sum, out, more);
}

template <class T>
static constexpr AttentionRows<T> functions{powers<T>, shares<T>, gradients<T>, scale_and_add<T>, scale<T>, row_dot<T>};
FloatingLoops<AttentionRows> attention_rows() { return {functions<float>, functions<double>}; }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

HWY_EXPORT(attention_rows);

const FloatingLoops<AttentionRows>& attention_rows() {
  static const auto loops = HWY_DYNAMIC_DISPATCH(attention_rows)();
  return loops;
}

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
