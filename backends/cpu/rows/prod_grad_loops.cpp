// Compiled once for every instruction set.
#include "asyncgrad/backends/cpu/rows/prod_grad_loops.h"

#include <algorithm>

#include "asyncgrad/backends/cpu/highway_targets.h"
#include "asyncgrad/backends/cpu/vectors/prefetch.h"
#include "asyncgrad/core/backend/round_up.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/rows/prod_grad_loops.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

constexpr std::int64_t block_rows = prod_grad_block_rows;

static std::int64_t blocks_of(std::int64_t rows) { return divided_up(rows, block_rows); }

// For each column, behind[b] gets the product of the elements from block b on, for blocks from `first` on, and 1 for the
// one behind the last.
template <class T>
void multiply_blocks(const Strip<T>& x, std::int64_t first, double* behind) {
  const std::int64_t blocks = blocks_of(x.rows);
  std::fill_n(behind, (blocks + 1) * x.columns, 1.0);
  for (std::int64_t block = first; block < blocks; ++block) {
    double* HWY_RESTRICT const product = behind + block * x.columns;
    const std::int64_t end = std::min(x.rows, (block + 1) * block_rows);
    for (std::int64_t row = block * block_rows; row < end; ++row) {
      const T* HWY_RESTRICT const in = x.data + row * x.stride;
      prefetch(in + block_rows * x.stride, x.columns);
      for (std::int64_t j = 0; j < x.columns; ++j) product[j] *= static_cast<double>(in[j]);
    }
  }
  for (std::int64_t i = blocks * x.columns - 1; i >= first * x.columns; --i) {
    behind[i] *= behind[i + x.columns];
  }
}

// The gradients of all elements, from the first block on, because memory is read faster upwards. `factors` has, for each
// column, what the gradients are multiplied by beside the column's own elements.
template <class T, class Y>
void multiply_others(const Strip<T>& x, const double* behind, const Y* factors, T* dx) {
  HWY_ALIGN double before[(block_rows + 1) * strip_columns], after[strip_columns];
  std::copy_n(factors, x.columns, before);
  for (std::int64_t block = 0; block < blocks_of(x.rows); ++block) {
    const std::int64_t first = block * block_rows, rows = std::min(block_rows, x.rows - first);
    for (std::int64_t row = 0; row < rows; ++row) {
      const T* HWY_RESTRICT const in = x.data + (first + row) * x.stride;
      const double* HWY_RESTRICT const of_row = before + row * x.columns;
      double* HWY_RESTRICT const of_next = before + (row + 1) * x.columns;
      prefetch(in + block_rows * x.stride, x.columns);
      prefetch(dx + (first + row + block_rows) * x.stride, x.columns);
      for (std::int64_t j = 0; j < x.columns; ++j) of_next[j] = of_row[j] * static_cast<double>(in[j]);
    }
    std::copy_n(behind + (block + 1) * x.columns, x.columns, after);
    for (std::int64_t row = rows - 1; row >= 0; --row) {
      const T* HWY_RESTRICT const in = x.data + (first + row) * x.stride;
      const double* HWY_RESTRICT const of_row = before + row * x.columns;
      T* HWY_RESTRICT const out = dx + (first + row) * x.stride;
      for (std::int64_t j = 0; j < x.columns; ++j) {
        out[j] = static_cast<T>(of_row[j] * after[j]);
        after[j] *= static_cast<double>(in[j]);
      }
    }
    std::copy_n(before + rows * x.columns, x.columns, before);
  }
}

template <class T>
void wide_grad(const Strip<T>& x, const T* dy, T* dx, double* behind) {
  multiply_blocks(x, 1, behind);
  multiply_others(x, behind, dy, dx);
}

constexpr std::int64_t most_columns = 128;  // that are seen as one row

// `count` lines of n elements, fewer than twice most_columns. The elements of a line are `step` apart, and neighbouring
// lines are `apart`.
template <std::int64_t count, class T, class Y>
HWY_INLINE void short_grad(const T* x, std::int64_t n, std::int64_t step, std::int64_t apart, const Y* dy, T* dx) {
  double before[2 * most_columns * count], product[count];
  std::fill_n(product, count, 1.0);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t line = 0; line < count; ++line) {
      before[i * count + line] = product[line];
      product[line] *= static_cast<double>(x[i * step + line * apart]);
    }
  }
  std::copy_n(dy, count, product);
  for (std::int64_t i = n - 1; i >= 0; --i) {
    for (std::int64_t line = 0; line < count; ++line) {
      dx[i * step + line * apart] = static_cast<T>(before[i * count + line] * product[line]);
      product[line] *= static_cast<double>(x[i * step + line * apart]);
    }
  }
}

// The rows that are seen as one if few columns lie one behind the other, so that products do not wait for each other; 0
// or 1 if it does not pay.
std::int64_t rows_together(std::int64_t rows, std::int64_t columns) {
  const std::int64_t together = (rows * columns < 4096 ? 16 : most_columns) / columns;
  return rows < 4 * together ? 0 : together;
}

// With `together` rows seen as one, a line is several columns, and has some elements behind them. A column's factors are
// the products of the line's other columns and the elements behind them.
template <class T>
void narrow_grad(const Strip<T>& x, std::int64_t together, const T* dy, T* dx, double* behind) {
  const std::int64_t columns = together * x.columns;
  const Strip<T> whole{x.data, x.rows / together, columns, columns};
  const std::int64_t rest = whole.rows * columns, count = x.rows * x.columns - rest;
  multiply_blocks(whole, 0, behind);
  double factors[2 * most_columns], others[2 * most_columns];
  std::copy_n(behind, columns, factors);
  std::copy_n(x.data + rest, count, factors + columns);
  for (std::int64_t line = 0; line < x.columns; ++line) {
    short_grad<1>(factors + line, together + x.rows % together, x.columns, 0, dy + line, others + line);
  }
  multiply_others(whole, behind, others, dx);
  for (std::int64_t i = 0; i < count; ++i) dx[rest + i] = static_cast<T>(others[columns + i]);
}

template <class T>
void columns_grad(const Strip<T>& x, const T* dy, T* dx, double* behind) {
  const std::int64_t together = x.columns == x.stride ? rows_together(x.rows, x.columns) : 0;
  if (together > 1) return narrow_grad(x, together, dy, dx, behind);
  wide_grad(x, dy, dx, behind);
}

template <class T>
void rows_grad(const Strip<T>& x, const T* dy, T* dx, double* behind) {
  const std::int64_t n = x.columns, together = rows_together(n, 1);
  std::int64_t row = 0;
  if (together <= 1) {
    for (; row + 4 <= x.rows; row += 4) short_grad<4>(x.data + row * n, n, 1, n, dy + row, dx + row * n);
    for (; row < x.rows; ++row) short_grad<1>(x.data + row * n, n, 1, n, dy + row, dx + row * n);
    return;
  }
  for (; row < x.rows; ++row) {
    narrow_grad(Strip<T>{x.data + row * n, n, 1, 1}, together, dy + row, dx + row * n, behind);
  }
}

template <class T>
static constexpr ProdGradLoops<T> functions{rows_grad<T>, columns_grad<T>};
FloatingLoops<ProdGradLoops> prod_grad_loops() { return {functions<float>, functions<double>}; }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

HWY_EXPORT(prod_grad_loops);

const FloatingLoops<ProdGradLoops>& prod_grad_loops() {
  static const auto loops = HWY_DYNAMIC_DISPATCH(prod_grad_loops)();
  return loops;
}

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
