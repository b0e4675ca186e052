// sum, prod, max, min, the gradient of the last two, any, all, argmax and argmin along an axis.
#include "asyncgrad/backends/cpu/rows/reduce_loops.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/rows/axis_lines.h"
#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail {

namespace {

const ReduceAttributes& reduce_attributes(const KernelCall& call) { return call.attributes<ReduceAttributes>(); }

// --- sum, prod, max and min ---
// If the axis is the last one, a tile is a range of rows. Otherwise it is one strip of columns. A strip is as wide as
// it may be, because a narrow one touches a page of memory for every few elements.

std::int64_t strips(const ReduceAttributes& a) { return (a.inner + strip_columns - 1) / strip_columns; }

int reduce_tiles(const KernelCall& call) {
  const auto& a = reduce_attributes(call);
  if (a.inner == 1) return tile_count(a.outer, items_per_tile(a.axis));
  return tile_count(a.outer * strips(a), items_per_tile(a.axis * std::min(a.inner, strip_columns)));
}

template <class T, class RowFunction, class StripFunction>
void reduce_tile(const KernelCall& call, int tile, RowFunction reduce_row, StripFunction reduce_strip) {
  const auto& a = reduce_attributes(call);
  const T* const in = call.data<T>(1);
  T* const out = call.data<T>(0);
  if (a.inner == 1) {
    const Range rows = tile_range(a.outer, items_per_tile(a.axis), tile);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) out[row] = reduce_row(in + row * a.axis, a.axis);
    return;
  }
  const Range range = tile_range(a.outer * strips(a), items_per_tile(a.axis * std::min(a.inner, strip_columns)), tile);
  for (std::int64_t strip = range.begin; strip < range.end; ++strip) {
    const std::int64_t outer = strip / strips(a), first = strip % strips(a) * strip_columns;
    const std::int64_t columns = std::min(strip_columns, a.inner - first);
    reduce_strip(Strip<T>{in + outer * a.axis * a.inner + first, a.axis, columns, a.inner},
                 out + outer * a.inner + first);
  }
}

void run_sum(const KernelCall& call, int tile) {
  const auto& a = reduce_attributes(call);
  visit_arithmetic(call.dtype(0), [&]<class T>(T) {
    const ReduceLoops<T>& all = reduce_loops().of<T>();
    const SumLoops<T>& loops = a.of_squares ? all.sum_of_squares : all.sum;
    reduce_tile<T>(
        call, tile, [&](const T* x, std::int64_t n) { return loops.row(x, n, a.scale); },
        [&](const Strip<T>& strip, T* out) { loops.columns(strip, a.scale, out); });
  });
}

void run_prod(const KernelCall& call, int tile) {
  visit_arithmetic(call.dtype(0), [&]<class T>(T) {
    reduce_tile<T>(call, tile, reduce_loops().of<T>().prod_row, reduce_loops().of<T>().prod_columns);
  });
}

void run_max(const KernelCall& call, int tile) {
  if (reduce_attributes(call).axis == 0) return;
  visit_arithmetic(call.dtype(0), [&]<class T>(T) {
    reduce_tile<T>(call, tile, reduce_loops().of<T>().max_row, reduce_loops().of<T>().max_columns);
  });
}

void run_min(const KernelCall& call, int tile) {
  if (reduce_attributes(call).axis == 0) return;
  visit_arithmetic(call.dtype(0), [&]<class T>(T) {
    reduce_tile<T>(call, tile, reduce_loops().of<T>().min_row, reduce_loops().of<T>().min_columns);
  });
}

// --- any and all, of bytes that are 0 or 1: they look for one that decides.

template <std::uint8_t decisive>
void run_decision(const KernelCall& call, int tile) {
  reduce_tile<std::uint8_t>(
      call, tile,
      [](const std::uint8_t* x, std::int64_t n) -> std::uint8_t {
        const bool is_there = n > 0 && std::memchr(x, decisive, static_cast<std::size_t>(n)) != nullptr;
        return is_there ? decisive : 1 - decisive;
      },
      [](const Strip<std::uint8_t>& strip, std::uint8_t* out) {
        std::fill_n(out, strip.columns, static_cast<std::uint8_t>(1 - decisive));
        for (std::int64_t row = 0; row < strip.rows; ++row) {
          const std::uint8_t* const x = strip.data + row * strip.stride;
          for (std::int64_t j = 0; j < strip.columns; ++j) {
            out[j] = static_cast<std::uint8_t>(decisive == 1 ? out[j] | x[j] : out[j] & x[j]);
          }
        }
      });
}

// --- argmax, argmin and the gradient of max and min: a tile is a range of lines along the axis.

constexpr std::int64_t max_lines = 64;  // of a group

template <bool Largest, class T>
bool is_more_extreme(T value, T best) {
  // NOLINTNEXTLINE(misc-redundant-expression): a NaN is not equal to itself
  return (Largest ? value > best : value < best) | ((value != value) & (best == best));
}

template <bool Largest, class T>
std::int64_t first_extreme(const T* x, std::int64_t axis) {
  std::int64_t place = 0;
  T best = x[0];
  for (std::int64_t i = 1; i < axis; ++i) {
    const bool replaces = is_more_extreme<Largest>(x[i], best);
    best = replaces ? x[i] : best;
    place = replaces ? i : place;
  }
  return place;
}
// The same for neighbouring lines.
template <bool Largest, class T>
void first_extremes(const T* x, std::int64_t count, const ReduceAttributes& a, std::int64_t* places) {
  std::array<T, max_lines> best;
  std::copy_n(x, count, best.begin());
  std::fill_n(places, count, 0);
  for (std::int64_t i = 1; i < a.axis; ++i) {
    const T* const row = x + i * a.inner;
    for (std::int64_t j = 0; j < count; ++j) {
      T& known = best[static_cast<std::size_t>(j)];
      const bool replaces = is_more_extreme<Largest>(row[j], known);
      known = replaces ? row[j] : known;
      places[j] = replaces ? i : places[j];
    }
  }
}

template <bool Largest>
void run_argextreme(const KernelCall& call, int tile) {
  const auto& a = reduce_attributes(call);
  visit_arithmetic(call.dtype(1), [&]<class T>(T) {
    each_group_of_lines(call, tile, max_lines, [&](std::int64_t line, std::int64_t first, std::int64_t count) {
      const T* const x = call.data<T>(1) + first;
      std::int64_t* const places = call.data<std::int64_t>(0) + line;
      if (a.inner == 1) {
        *places = first_extreme<Largest>(x, a.axis);
      } else {
        first_extremes<Largest>(x, count, a, places);
      }
    });
  });
}

// NaN counts as equal to NaN, so that the gradient of an extreme that is NaN goes to the NaN elements.
template <class T>
bool same(T x, T y) {
  return (x == y) | ((x != x) & (y != y));  // NOLINT(misc-redundant-expression): NaN
}

template <class T>
void max_grad_line(const T* x, T y, T dy, T* dx, std::int64_t axis) {
  std::int64_t equal = 0;
  for (std::int64_t i = 0; i < axis; ++i) equal += same(x[i], y) ? 1 : 0;
  const T share = dy / static_cast<T>(equal);
  for (std::int64_t i = 0; i < axis; ++i) dx[i] = same(x[i], y) ? share : T{0};
}
// The same for neighbouring lines.
template <class T>
void max_grad_lines(const T* x, const T* y, const T* dy, T* dx, std::int64_t count, const ReduceAttributes& a) {
  std::array<std::int64_t, max_lines> equal{};
  std::array<T, max_lines> share;
  for (std::int64_t i = 0; i < a.axis; ++i) {
    const T* const row = x + i * a.inner;
    for (std::int64_t j = 0; j < count; ++j) equal[static_cast<std::size_t>(j)] += same(row[j], y[j]) ? 1 : 0;
  }
  for (std::int64_t j = 0; j < count; ++j) {
    share[static_cast<std::size_t>(j)] = dy[j] / static_cast<T>(equal[static_cast<std::size_t>(j)]);
  }
  for (std::int64_t i = 0; i < a.axis; ++i) {
    const T* const row = x + i * a.inner;
    T* const out = dx + i * a.inner;
    for (std::int64_t j = 0; j < count; ++j) out[j] = same(row[j], y[j]) ? share[static_cast<std::size_t>(j)] : T{0};
  }
}

void run_max_grad(const KernelCall& call, int tile) {
  const auto& a = reduce_attributes(call);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    each_group_of_lines(call, tile, max_lines, [&](std::int64_t line, std::int64_t first, std::int64_t count) {
      T* const dx = call.data<T>(0) + first;
      const T* const x = call.data<T>(1) + first;
      const T *const y = call.data<T>(2) + line, *const dy = call.data<T>(3) + line;
      if (a.inner == 1) {
        max_grad_line(x, *y, *dy, dx, a.axis);
      } else {
        max_grad_lines(x, y, dy, dx, count, a);
      }
    });
  });
}

}  // namespace

constinit const Kernel cpu_kernels::sum{.run = run_sum, .tiles = reduce_tiles};
constinit const Kernel cpu_kernels::prod{.run = run_prod, .tiles = reduce_tiles};
constinit const Kernel cpu_kernels::max{.run = run_max, .tiles = reduce_tiles};
constinit const Kernel cpu_kernels::min{.run = run_min, .tiles = reduce_tiles};
constinit const Kernel cpu_kernels::any{.run = run_decision<1>, .tiles = reduce_tiles};
constinit const Kernel cpu_kernels::all{.run = run_decision<0>, .tiles = reduce_tiles};
constinit const Kernel cpu_kernels::max_grad{.run = run_max_grad, .tiles = line_tiles};
constinit const Kernel cpu_kernels::argmax{.run = run_argextreme<true>, .tiles = line_tiles};
constinit const Kernel cpu_kernels::argmin{.run = run_argextreme<false>, .tiles = line_tiles};

}  // namespace asyncgrad::detail
