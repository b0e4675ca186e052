// Compiled once for every instruction set. The largest element is subtracted first, so that nothing overflows. If there
// is a NaN, the sum is NaN, and so are all results.
#include "asyncgrad/backends/cpu/rows/softmax_rows.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "asyncgrad/backends/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/rows/softmax_rows.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/rows/columns-inl.h"
#include "asyncgrad/backends/cpu/rows/short_row-inl.h"
#include "asyncgrad/backends/cpu/vectors/rows-inl.h"
#include "asyncgrad/backends/cpu/vectors/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

// Each function has a form for a row, one for as many short rows as a vector has lanes, at most, and one for columns.
template <class T>
struct Softmax {
  static void of_row(const T* x, const T*, T* out, std::int64_t n) {
    const double sum = row_exp_sum(x, row_max(x, n), out, n);
    const auto scale = hn::Set(hn::ScalableTag<T>(), static_cast<T>(1 / sum));
    map_row(
        out, n, [&](auto part) HWY_ATTR { return hn::Mul(part, scale); }, out);
  }
  template <std::size_t vectors>
  static void of_short_rows(const ShortRow<T, vectors>& shape, const T* x, const T*, T* out, std::int64_t n,
                            std::int64_t count) {
    const hn::ScalableTag<T> d;
    Lanes<T> row[vectors];
    for (std::int64_t at = 0; at < count * n; at += n) {
      shape.load(x + at, hn::Set(d, -std::numeric_limits<T>::infinity()), row);
      const auto largest = hn::Set(d, shape.fold(row, LargerLanes()));
      for (auto& part : row) part = exponential(hn::Sub(part, largest));
      const auto scale = hn::Set(d, T{1} / shape.sum(row));
      for (auto& part : row) part = hn::Mul(part, scale);
      shape.store(row, out + at);
    }
  }
  template <class C>
  static void of_columns(const C& columns, const T* x, const T*, T* out) {
    typename C::Row largest, sums;
    columns.maximum(x, largest);
    const auto term = [&](std::size_t v, std::int64_t i) HWY_ATTR {
      const auto part = exponential(hn::Sub(columns.load(x, v, i), largest[v]));
      columns.store(part, out, v, i);
      return part;
    };
    columns.sum(term, sums);
    for (auto& sum : sums) sum = hn::Div(hn::Set(hn::ScalableTag<T>(), T{1}), sum);
    columns.put(out, [&](std::size_t v, std::int64_t i) HWY_ATTR { return hn::Mul(columns.load(out, v, i), sums[v]); });
  }
};

template <class T>
struct SoftmaxGrad {
  static void of_row(const T* y, const T* dy, T* dx, std::int64_t n) {
    const auto mean = hn::Set(hn::ScalableTag<T>(), static_cast<T>(row_dot(y, dy, n)));
    const auto gradient = [&](auto y_part, auto dy_part) HWY_ATTR { return hn::Mul(y_part, hn::Sub(dy_part, mean)); };
    map_row(dx, n, gradient, y, dy);
  }
  template <std::size_t vectors>
  static void of_short_rows(const ShortRow<T, vectors>& shape, const T* y, const T* dy, T* dx, std::int64_t n,
                            std::int64_t count) {
    const hn::ScalableTag<T> d;
    Lanes<T> ys[vectors], dys[vectors], products[vectors];
    for (std::int64_t at = 0; at < count * n; at += n) {
      shape.load(y + at, hn::Zero(d), ys);
      shape.load(dy + at, hn::Zero(d), dys);
      for (std::size_t v = 0; v < vectors; ++v) products[v] = hn::Mul(ys[v], dys[v]);
      const auto mean = hn::Set(d, shape.sum(products));
      for (std::size_t v = 0; v < vectors; ++v) ys[v] = hn::Mul(ys[v], hn::Sub(dys[v], mean));
      shape.store(ys, dx + at);
    }
  }
  template <class C>
  static void of_columns(const C& columns, const T* y, const T* dy, T* dx) {
    typename C::Row means;
    const auto term = [&](std::size_t v, std::int64_t i)
                          HWY_ATTR { return hn::Mul(columns.load(y, v, i), columns.load(dy, v, i)); };
    columns.sum(term, means);
    columns.put(dx, [&](std::size_t v, std::int64_t i)
                        HWY_ATTR { return hn::Mul(columns.load(y, v, i), hn::Sub(columns.load(dy, v, i), means[v])); });
  }
};

// The largest element of each row, and the logarithm of its sum of e^(x - largest): of as many rows at most as a vector
// has lanes. Rows of at most `vectors` vectors, or the first larger number that suffices, are kept in registers.
template <std::size_t vectors = 1, class T>
void row_log_sums(const T* x, std::int64_t n, std::int64_t count, T* largest, T* log_sums) {
  const hn::ScalableTag<T> d;
  HWY_ALIGN T sums[VectorMath<T>::lanes] = {};
  if constexpr (vectors <= most_row_vectors) {
    if (n > static_cast<std::int64_t>(vectors) * lanes_of<T>) {
      return row_log_sums<vectors + 1>(x, n, count, largest, log_sums);
    }
    const ShortRow<T, vectors> shape(n);
    Lanes<T> row[vectors];
    for (std::int64_t j = 0; j < count; ++j) {
      shape.load(x + j * n, hn::Set(d, -std::numeric_limits<T>::infinity()), row);
      largest[j] = shape.fold(row, LargerLanes());
      for (auto& part : row) part = exponential(hn::Sub(part, hn::Set(d, largest[j])));
      sums[j] = shape.sum(row);
    }
  } else {
    for (std::int64_t j = 0; j < count; ++j) {
      largest[j] = row_max(x + j * n, n);
      sums[j] = static_cast<T>(row_exp_sum<T>(x + j * n, largest[j], nullptr, n));
    }
  }
  hn::Store(VectorMath<T>::call(Is<Primitive::log>(), hn::Load(d, sums)), d, sums);
  for (std::int64_t j = 0; j < count; ++j) log_sums[j] = sums[j];
}

template <class T>
struct LogSoftmax {
  static void of_row(const T* x, const T*, T* out, std::int64_t n) {
    const hn::ScalableTag<T> d;
    T largest, log_sum;
    row_log_sums<most_row_vectors + 1>(x, n, 1, &largest, &log_sum);
    map_row(
        out, n, [&](auto part) HWY_ATTR { return hn::Sub(hn::Sub(part, hn::Set(d, largest)), hn::Set(d, log_sum)); },
        x);
  }
  template <std::size_t vectors>
  static void of_short_rows(const ShortRow<T, vectors>& shape, const T* x, const T*, T* out, std::int64_t n,
                            std::int64_t count) {
    const hn::ScalableTag<T> d;
    T largest[VectorMath<T>::lanes], log_sums[VectorMath<T>::lanes];
    row_log_sums<vectors>(x, n, count, largest, log_sums);
    Lanes<T> row[vectors];
    for (std::int64_t j = 0; j < count; ++j) {
      shape.load(x + j * n, hn::Zero(d), row);
      for (auto& part : row) part = hn::Sub(hn::Sub(part, hn::Set(d, largest[j])), hn::Set(d, log_sums[j]));
      shape.store(row, out + j * n);
    }
  }
  template <class C>
  static void of_columns(const C& columns, const T* x, const T*, T* out) {
    typename C::Row largest, log_sums;
    columns.maximum(x, largest);
    const auto shifted = [&](std::size_t v, std::int64_t i)
                             HWY_ATTR { return hn::Sub(columns.load(x, v, i), largest[v]); };
    columns.sum([&](std::size_t v, std::int64_t i) HWY_ATTR { return exponential(shifted(v, i)); }, log_sums);
    for (auto& sum : log_sums) sum = VectorMath<T>::call(Is<Primitive::log>(), sum);
    columns.put(out, [&](std::size_t v, std::int64_t i) HWY_ATTR { return hn::Sub(shifted(v, i), log_sums[v]); });
  }
};

template <class T>
struct LogSoftmaxGrad {
  static void of_row(const T* y, const T* dy, T* dx, std::int64_t n) {
    const auto sum = hn::Set(hn::ScalableTag<T>(), static_cast<T>(row_sum(dy, n)));
    const auto gradient = [&](auto y_part, auto dy_part) HWY_ATTR {
      return hn::Sub(dy_part, hn::Mul(VectorMath<T>::call(Is<Primitive::exp>(), y_part), sum));
    };
    map_row(dx, n, gradient, y, dy);
  }
  template <std::size_t vectors>
  static void of_short_rows(const ShortRow<T, vectors>& shape, const T* y, const T* dy, T* dx, std::int64_t n,
                            std::int64_t count) {
    const hn::ScalableTag<T> d;
    Lanes<T> ys[vectors], dys[vectors];
    for (std::int64_t at = 0; at < count * n; at += n) {
      shape.load(y + at, hn::Zero(d), ys);
      shape.load(dy + at, hn::Zero(d), dys);
      const auto sum = hn::Set(d, shape.sum(dys));
      for (std::size_t v = 0; v < vectors; ++v) {
        ys[v] = hn::Sub(dys[v], hn::Mul(VectorMath<T>::call(Is<Primitive::exp>(), ys[v]), sum));
      }
      shape.store(ys, dx + at);
    }
  }
  template <class C>
  static void of_columns(const C& columns, const T* y, const T* dy, T* dx) {
    typename C::Row sums;
    columns.sum([&](std::size_t v, std::int64_t i) HWY_ATTR { return columns.load(dy, v, i); }, sums);
    columns.put(dx, [&](std::size_t v, std::int64_t i) HWY_ATTR {
      return hn::Sub(columns.load(dy, v, i),
                     hn::Mul(VectorMath<T>::call(Is<Primitive::exp>(), columns.load(y, v, i)), sums[v]));
    });
  }
};

// The most columns that are worth it.
constexpr std::int64_t most_narrow_columns = 4;

// A matrix of `columns` columns, or of fewer.
template <class Function, std::int64_t columns = most_narrow_columns, class T>
void narrow_columns(std::int64_t n, std::int64_t count, const T* x, const T* dy, T* out) {
  if constexpr (columns > 2) {
    if (count < columns) return narrow_columns<Function, columns - 1>(n, count, x, dy, out);
  }
  Function::of_columns(NarrowColumns<T, static_cast<std::size_t>(columns)>(n), x, dy, out);
}

// As many columns at once as there are registers for, and the rest vector by vector.
template <class Function, class T>
void each_column(std::int64_t n, std::int64_t step, std::int64_t count, const T* x, const T* dy, T* out) {
  std::int64_t j = 0;
  const auto dy_from = [&] { return dy == nullptr ? nullptr : dy + j; };
  for (; j + running_sums <= count; j += running_sums) {
    Function::of_columns(Columns<T, running_vectors<T>>(n, step, running_sums), x + j, dy_from(), out + j);
  }
  for (; j < count; j += lanes_of<T>) {
    Function::of_columns(Columns<T, 1>(n, step, count - j), x + j, dy_from(), out + j);
  }
}

// Turns rows into columns, and the results back.
template <class Function, class T>
void each_turned_row(const SoftmaxLines<T>& lines) {
  constexpr std::int64_t at_once = rows_turned_at_once;
  const std::int64_t n = lines.n;
  T *const out = lines.scratch, *const x = out + n * at_once, *const dy = x + n * at_once;
  for (std::int64_t row = 0; row < lines.count; row += at_once) {
    const std::int64_t count = std::min(at_once, lines.count - row);
    transpose(lines.x + row * n, n, count, n, x, at_once);
    if (lines.dy != nullptr) transpose(lines.dy + row * n, n, count, n, dy, at_once);
    each_column<Function>(n, at_once, count, x, dy, out);
    transpose(out, at_once, n, count, lines.out + row * n, n);
  }
}

template <class Function, class T>
void each_row(const SoftmaxLines<T>& lines) {
  const std::int64_t n = lines.n;
  for (std::int64_t at = 0; at < lines.count * n; at += n) {
    Function::of_row(lines.x + at, lines.dy == nullptr ? nullptr : lines.dy + at, lines.out + at, n);
  }
}

// The same bits as each_row().
template <class Function, std::size_t vectors = 1, class T>
void each_short_row(const SoftmaxLines<T>& lines) {
  const std::int64_t n = lines.n;
  if constexpr (vectors <= most_row_vectors) {
    if (n > static_cast<std::int64_t>(vectors) * lanes_of<T>) return each_short_row<Function, vectors + 1>(lines);
    const ShortRow<T, vectors> shape(n);
    for (std::int64_t row = 0; row < lines.count; row += lanes_of<T>) {
      const std::int64_t at = row * n, count = std::min(lanes_of<T>, lines.count - row);
      const T* const dy = lines.dy == nullptr ? nullptr : lines.dy + at;
      Function::of_short_rows(shape, lines.x + at, dy, lines.out + at, n, count);
    }
  } else {
    each_row<Function>(lines);
  }
}

template <class Function, class T>
void each_line(const SoftmaxLines<T>& lines) {
  const std::int64_t n = lines.n;
  if (lines.step != 1) {
    const bool is_narrow = lines.step == lines.count && lines.count <= most_narrow_columns &&
                           2 * lines.count <= lanes_of<T> && n >= 2 * lanes_of<T>;
    if (is_narrow) return narrow_columns<Function>(n, lines.count, lines.x, lines.dy, lines.out);
    return each_column<Function>(n, lines.step, lines.count, lines.x, lines.dy, lines.out);
  }
  n <= longest_turned_row ? each_turned_row<Function>(lines) : each_short_row<Function>(lines);
}

// Writes the largest element of each column, and behind these the logarithm of the sum of e^(x - largest).
template <class T>
struct LogSums {
  template <std::size_t vectors>
  static void of_columns(const Columns<T, vectors>& columns, const T* x, const T*, T* out) {
    typename Columns<T, vectors>::Row largest, sums;
    columns.maximum(x, largest);
    columns.sum([&](std::size_t v, std::int64_t i)
                    HWY_ATTR { return exponential(hn::Sub(columns.load(x, v, i), largest[v])); },
                sums);
    for (std::size_t v = 0; v < vectors; ++v) {
      columns.store(largest[v], out, v, 0);
      columns.store(VectorMath<T>::call(Is<Primitive::log>(), sums[v]), out, v, 1);
    }
  }
};

template <class T>
void cross_entropy_of_turned_rows(const SoftmaxLines<T>& rows, const std::int64_t* labels) {
  constexpr std::int64_t at_once = rows_turned_at_once;
  const std::int64_t n = rows.n;
  T *const x = rows.scratch, *const largest = x + n * at_once, *const log_sums = largest + at_once;
  for (std::int64_t first = 0; first < rows.count; first += at_once) {
    const std::int64_t count = std::min(at_once, rows.count - first);
    transpose(rows.x + first * n, n, count, n, x, at_once);
    each_column<LogSums<T>, T>(n, at_once, count, x, nullptr, largest);
    for (std::int64_t j = 0; j < count; ++j) {
      const T at_label = rows.x[(first + j) * n + labels[first + j]];
      rows.out[first + j] = log_sums[j] - (at_label - largest[j]);
    }
  }
}

template <class T>
void cross_entropy(const SoftmaxLines<T>& rows, const std::int64_t* labels) {
  const std::int64_t n = rows.n;
  if (n <= longest_turned_row) return cross_entropy_of_turned_rows(rows, labels);
  T largest[VectorMath<T>::lanes], log_sums[VectorMath<T>::lanes];
  for (std::int64_t first = 0; first < rows.count; first += lanes_of<T>) {
    const std::int64_t count = std::min(lanes_of<T>, rows.count - first);
    const T* const x = rows.x + first * n;
    row_log_sums(x, n, count, largest, log_sums);
    for (std::int64_t j = 0; j < count; ++j) {
      rows.out[first + j] = log_sums[j] - (x[j * n + labels[first + j]] - largest[j]);
    }
  }
}

template <class T>
void cross_entropy_grad(const SoftmaxLines<T>& rows, const std::int64_t* labels) {
  const std::int64_t n = rows.n;
  each_line<Softmax<T>, T>({rows.count, n, 1, rows.x, nullptr, rows.out, rows.scratch});
  for (std::int64_t row = 0; row < rows.count; ++row) {
    T* const dx = rows.out + row * n;
    dx[labels[row]] -= 1;
    for (std::int64_t i = 0; i < n; ++i) dx[i] *= rows.dy[row];
  }
}

template <class T>
static constexpr SoftmaxRows<T> functions{each_line<Softmax<T>, T>,
                                          each_line<SoftmaxGrad<T>, T>,
                                          each_line<LogSoftmax<T>, T>,
                                          each_line<LogSoftmaxGrad<T>, T>,
                                          cross_entropy<T>,
                                          cross_entropy_grad<T>};
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
