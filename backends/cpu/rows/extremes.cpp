// max, min, argmax, argmin, and the gradient of max and min along an axis.
#include <algorithm>
#include <array>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/rows/extreme_loops.h"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail {

namespace {

template <bool Largest, class T>
const StripLoops<T>& loops_of() {
  const ExtremeLoops<T>& all = extreme_loops().of<T>();
  return Largest ? all.max : all.min;
}

template <bool Largest>
void run_extreme(const KernelCall& call, int tile) {
  if (call.attributes<ReduceAttributes>().axis == 0) return;
  visit_arithmetic(call.dtype(0), [&]<class T>(T) {
    const StripLoops<T>& loops = loops_of<Largest, T>();
    reduce_strips<T>(call, tile, loops.rows, loops.columns);
  });
}

// --- argmax and argmin ---

// NaN counts as equal to NaN, so that the gradient of an extreme that is NaN goes to the NaN elements.
template <class T>
bool same(T x, T y) {
  return (x == y) | ((x != x) & (y != y));  // NOLINT(misc-redundant-expression): NaN
}

template <bool Largest, class T>
bool is_more_extreme(T value, T best) {
  // NOLINTNEXTLINE(misc-redundant-expression): a NaN is not equal to itself
  return (Largest ? value > best : value < best) | ((value != value) & (best == best));
}

// The place from `place` on that has the value, which is there.
template <class T>
std::int64_t place_of(T value, const T* line, std::int64_t step, std::int64_t place = 0) {
  while (!same(line[place * step], value)) ++place;
  return place;
}

// The place of the first extreme in a short row.
template <bool Largest, class T>
std::int64_t first_extreme(const T* x, std::int64_t n) {
  std::int64_t place = 0;
  T best = x[0];
  for (std::int64_t i = 1; i < n; ++i) {
    const bool replaces = is_more_extreme<Largest>(x[i], best);
    best = replaces ? x[i] : best;
    place = replaces ? i : place;
  }
  return place;
}
// The same of rows, whose extremes are found many at a time, and then looked for.
template <bool Largest, class T>
void first_extremes_of_rows(const Strip<T>& strip, std::int64_t* places) {
  constexpr std::int64_t short_row = 8;  // where the processor foresees no place
  if (strip.columns <= short_row) {
    for (std::int64_t row = 0; row < strip.rows; ++row) {
      places[row] = first_extreme<Largest>(strip.data + row * strip.stride, strip.columns);
    }
    return;
  }
  std::array<T, strip_columns> extremes;
  for (std::int64_t begin = 0; begin < strip.rows; begin += strip_columns) {
    const T* const x = strip.data + begin * strip.stride;
    const std::int64_t rows = std::min(strip_columns, strip.rows - begin);
    loops_of<Largest, T>().rows({x, rows, strip.columns, strip.stride}, extremes.data());
    for (std::int64_t i = 0; i < rows; ++i) {
      places[begin + i] = place_of(extremes[static_cast<std::size_t>(i)], x + i * strip.stride, 1);
    }
  }
}

// The same of columns.
template <bool Largest, class T>
void first_extremes_of_short_columns(const Strip<T>& strip, std::int64_t* places) {
  std::array<T, strip_columns> best;
  std::copy_n(strip.data, strip.columns, best.begin());
  std::fill_n(places, strip.columns, 0);
  for (std::int64_t i = 1; i < strip.rows; ++i) {
    const T* const row = strip.data + i * strip.stride;
    for (std::int64_t j = 0; j < strip.columns; ++j) {
      T& known = best[static_cast<std::size_t>(j)];
      const bool replaces = is_more_extreme<Largest>(row[j], known);
      known = replaces ? row[j] : known;
      places[j] = replaces ? i : places[j];
    }
  }
}

// Goes through columns, or a single line, by blocks of `block` elements, and looks for the first of the most extreme ones
// in the block that has it.
template <bool Largest, class T>
void first_extremes_of_columns(const Strip<T>& strip, std::int64_t block, std::int64_t* places) {
  const StripLoops<T>& loops = loops_of<Largest, T>();
  std::array<T, strip_columns> best, of_block;
  for (std::int64_t begin = 0; begin < strip.rows; begin += block) {
    const std::int64_t n = std::min(block, strip.rows - begin);
    const T* const x = strip.data + begin * strip.stride;
    if (strip.stride == 1) {
      loops.rows({x, 1, n, n}, of_block.data());
    } else {
      loops.columns({x, n, strip.columns, strip.stride}, of_block.data());
    }
    for (std::int64_t j = 0; j < strip.columns; ++j) {
      const auto column = static_cast<std::size_t>(j);
      if (begin > 0 && !is_more_extreme<Largest>(of_block[column], best[column])) continue;
      best[column] = of_block[column];
      places[j] = begin;
    }
  }
  for (std::int64_t j = 0; j < strip.columns; ++j) {
    places[j] = place_of(best[static_cast<std::size_t>(j)], strip.data + j, strip.stride, places[j]);
  }
}

template <bool Largest>
void run_argextreme(const KernelCall& call, int tile) {
  constexpr std::int64_t row_block = 4096, column_block = 128;
  std::int64_t* const all_places = call.data<std::int64_t>(0);
  visit_arithmetic(call.dtype(1), [&]<class T>(T) {
    each_strip<ReduceAttributes>(
        call, tile, call.data<T>(1),
        [&](const Strip<T>& strip, std::int64_t line) {
          std::int64_t* const places = all_places + line;
          if (strip.columns <= row_block) return first_extremes_of_rows<Largest>(strip, places);
          for (std::int64_t row = 0; row < strip.rows; ++row) {
            const Strip<T> alone{strip.data + row * strip.stride, strip.columns, 1, 1};
            first_extremes_of_columns<Largest>(alone, row_block, places + row);
          }
        },
        [&](const Strip<T>& strip, std::int64_t line) {
          std::int64_t* const places = all_places + line;
          if (strip.rows < column_block) {
            first_extremes_of_short_columns<Largest>(strip, places);
          } else {
            first_extremes_of_columns<Largest>(strip, column_block, places);
          }
        });
  });
}

// --- The gradient of max and min ---

template <class T>
void max_grad_row(const T* x, T y, T dy, T* dx, std::int64_t n) {
  std::int64_t equal = 0;
  for (std::int64_t i = 0; i < n; ++i) equal += same(x[i], y) ? 1 : 0;
  const T share = dy / static_cast<T>(equal);
  for (std::int64_t i = 0; i < n; ++i) dx[i] = same(x[i], y) ? share : T{0};
}

// The same for each column. Of narrow matrices some rows are gone through side by side, as many as a strip is wide.
template <class T>
void max_grad_columns(const Strip<T>& x, const T* y, const T* dy, T* dx) {
  const std::int64_t columns = x.columns, parts = rows_side_by_side(x);
  std::array<T, strip_columns> extremes, shares;
  std::array<std::int64_t, strip_columns> equal{};
  for (std::int64_t j = 0; j < parts * columns; ++j) extremes[static_cast<std::size_t>(j)] = y[j % columns];
  // function(offset of some rows in x, their elements)
  const auto each_rows = [&](auto function) {
    std::int64_t row = 0;
    for (; row + parts <= x.rows; row += parts) function(row * x.stride, parts * columns);
    for (; row < x.rows; ++row) function(row * x.stride, columns);
  };
  each_rows([&](std::int64_t at, std::int64_t n) {
    const T* const row = x.data + at;
    for (std::int64_t j = 0; j < n; ++j) {
      const auto k = static_cast<std::size_t>(j);
      equal[k] += same(row[j], extremes[k]) ? 1 : 0;
    }
  });
  for (std::int64_t j = 0; j < columns; ++j) {
    std::int64_t count = 0;
    for (std::int64_t k = j; k < parts * columns; k += columns) count += equal[static_cast<std::size_t>(k)];
    const T share = dy[j] / static_cast<T>(count);
    for (std::int64_t k = j; k < parts * columns; k += columns) shares[static_cast<std::size_t>(k)] = share;
  }
  each_rows([&](std::int64_t at, std::int64_t n) {
    const T* const row = x.data + at;
    T* const out = dx + at;
    for (std::int64_t j = 0; j < n; ++j) {
      const auto k = static_cast<std::size_t>(j);
      out[j] = same(row[j], extremes[k]) ? shares[k] : T{0};
    }
  });
}

void run_max_grad(const KernelCall& call, int tile) {
  visit_floating(call.dtype(0), [&]<class T>(T) {
    const T *const x = call.data<T>(1), *const y = call.data<T>(2), *const dy = call.data<T>(3);
    each_strip<ReduceAttributes>(
        call, tile, x,
        [&](const Strip<T>& strip, std::int64_t line) {
          T* const dx = call.data<T>(0) + (strip.data - x);
          for (std::int64_t row = 0; row < strip.rows; ++row) {
            const std::int64_t first = row * strip.stride;
            max_grad_row(strip.data + first, y[line + row], dy[line + row], dx + first, strip.columns);
          }
        },
        [&](const Strip<T>& strip, std::int64_t line) {
          max_grad_columns(strip, y + line, dy + line, call.data<T>(0) + (strip.data - x));
        });
  });
}

}  // namespace

constinit const Kernel cpu_kernels::max{.run = run_extreme<true>, .tiles = strip_tiles<ReduceAttributes>};
constinit const Kernel cpu_kernels::min{.run = run_extreme<false>, .tiles = strip_tiles<ReduceAttributes>};
constinit const Kernel cpu_kernels::argmax{.run = run_argextreme<true>, .tiles = strip_tiles<ReduceAttributes>};
constinit const Kernel cpu_kernels::argmin{.run = run_argextreme<false>, .tiles = strip_tiles<ReduceAttributes>};
constinit const Kernel cpu_kernels::max_grad{.run = run_max_grad, .tiles = strip_tiles<ReduceAttributes>};

}  // namespace asyncgrad::detail
