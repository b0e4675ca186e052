// Compiled once for every instruction set.
#include "asyncgrad/backends/cpu/normalisation/norm_rows.h"

#include "asyncgrad/backends/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/normalisation/norm_rows.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/normalisation/norm_row-inl.h"
#include "asyncgrad/backends/cpu/vectors/fold_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

// The statistics of some rows of at most a vector, with the bits of row_statistics(). Their sums are folded together.
template <class T>
HWY_INLINE void short_row_statistics(const NormBlock<T>& b, std::int64_t first, std::int64_t rows) {
  const auto n = static_cast<double>(b.n);
  const T* const x = b.x + first * b.n;
  T *const mean = b.mean + first, *const inverse = b.inverse + first;
  if (b.is_rms) {
    std::fill_n(mean, rows, T{0});
  } else {
    for (std::int64_t i = 0; i < rows; ++i) mean[i] = static_cast<T>(row_sum_of<false>(x + i * b.n, x, b.n) / n);
  }
  const auto squares_of = [&](std::int64_t i) HWY_ATTR {
    const auto means = hn::Set(hn::ScalableTag<T>(), mean[i]);
    const auto distance = hn::Sub(load_up_to(means, x + i * b.n, b.n), means);
    return hn::Mul(distance, distance);
  };
  fold_rows(rows, squares_of, AddLanes(), inverse);
  for (std::int64_t i = 0; i < rows; ++i) {
    inverse[i] = static_cast<T>(1 / std::sqrt(static_cast<double>(inverse[i]) / n + b.epsilon));
  }
}

template <class T>
void forward_short(const NormBlock<T>& b) {
  constexpr std::int64_t together = 64;
  for (std::int64_t first = 0; first < b.rows; first += together) {
    const std::int64_t end = std::min(b.rows, first + together);
    short_row_statistics(b, first, end - first);
    for (std::int64_t row = first; row < end; ++row) {
      normalise_row(b.x + row * b.n, RowStatistics<T>{b.mean[row], b.inverse[row]}, b.weight, b.bias, b.out + row * b.n,
                    b.n);
    }
  }
}

template <class T>
void forward(const NormBlock<T>& b) {
  if (b.n > 0 && b.n <= lanes_of<T>) return forward_short(b);
  for (std::int64_t row = 0; row < b.rows; ++row) {
    const T* const x = b.x + row * b.n;
    const RowStatistics<T> statistics = row_statistics(x, b.n, b.epsilon, b.is_rms);
    b.mean[row] = statistics.mean;
    b.inverse[row] = statistics.inverse;
    normalise_row(x, statistics, b.weight, b.bias, b.out + row * b.n, b.n);
  }
}

template <class T>
HWY_INLINE void gradient_of_row(const NormBlock<T>& b, std::int64_t row) {
  const T *const x = b.x + row * b.n, *const dy = b.dy + row * b.n;
  const RowStatistics<T> statistics{b.mean[row], b.inverse[row]};
  const GradientSums sums = gradient_sums(x, dy, b.weight, statistics.mean, b.n);
  if (b.dweight != nullptr) {
    const hn::ScalableTag<T> d;
    const auto means = hn::Set(d, statistics.mean), inverses = hn::Set(d, statistics.inverse);
    const auto add = [&](auto sum, auto part, auto dy_part)
                         HWY_ATTR { return hn::Add(sum, hn::Mul(dy_part, hn::Mul(hn::Sub(part, means), inverses))); };
    map_row(b.running, b.n, add, b.running, x, dy);
  }
  if (b.dbias != nullptr) {
    const auto add = [](auto sum, auto dy_part) HWY_ATTR { return hn::Add(sum, dy_part); };
    map_row(b.running + b.n, b.n, add, b.running + b.n, dy);
  }
  RowGradient<T>(statistics, sums, b.n, b.is_rms).map(x, dy, b.weight, b.out + row * b.n, b.n);  // perhaps over dy
}

// Adds what a block of rows has given to the sum of all and begins again: short sums lose fewer digits.
template <class T>
void hand_over(T* sums, T* running, std::int64_t n) {
  if (sums == nullptr) return;
  const auto add = [](auto x, auto y) HWY_ATTR { return hn::Add(x, y); };
  map_row(sums, n, add, sums, running);
  std::fill_n(running, n, T{0});
}

template <class T>
void backward(const NormBlock<T>& b) {
  constexpr std::int64_t rows_together = 64;
  std::fill_n(b.running, 2 * b.n, T{0});
  if (b.dweight != nullptr) std::fill_n(b.dweight, b.n, T{0});
  if (b.dbias != nullptr) std::fill_n(b.dbias, b.n, T{0});
  for (std::int64_t row = 0; row < b.rows; ++row) {
    gradient_of_row(b, row);
    if ((row + 1) % rows_together != 0 && row + 1 != b.rows) continue;
    hand_over(b.dweight, b.running, b.n);
    hand_over(b.dbias, b.running + b.n, b.n);
  }
}

template <class T>
static constexpr NormRows<T> functions{forward<T>, backward<T>};
FloatingLoops<NormRows> norm_rows() { return {functions<float>, functions<double>}; }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

HWY_EXPORT(norm_rows);

const FloatingLoops<NormRows>& norm_rows() {
  static const auto loops = HWY_DYNAMIC_DISPATCH(norm_rows)();
  return loops;
}

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
