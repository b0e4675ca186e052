// Compiled once for every instruction set.
#include "asyncgrad/backends/cpu/windows/conv_products.h"

#include <algorithm>
#include <cmath>

#include "asyncgrad/backends/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/windows/conv_products.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/vectors/partial_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

// AVX-512 has 32 registers, the others 16.
constexpr bool has_32_registers = HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3;
constexpr int max_panel_vectors = has_32_registers ? 4 : 3;
// The rows whose sums stay in registers beside a row of the panel and a factor.
constexpr int gathered_rows(int vectors) {
  return has_32_registers ? (vectors == 4 ? 6 : 8) : vectors == 3 ? 4 : vectors == 2 ? 6 : 8;
}
constexpr int shifted_vectors(int rows) { return has_32_registers ? (rows <= 2 ? 8 : 4) : rows <= 2 ? 4 : 2; }
constexpr int dot_rows = has_32_registers ? 4 : 2;

// The rare partial vectors are apart: loops over the sums are then short enough for the compiler to unroll, and the sums
// stay in registers.
template <class T>
HWY_NOINLINE hn::Vec<hn::ScalableTag<T>> load_last(const T* from, std::int64_t count) {
  HWY_ALIGN T beside[HWY_MAX_BYTES / sizeof(T)];
  return load_part(from, count, beside);
}
template <class T>
HWY_NOINLINE void store_last(hn::Vec<hn::ScalableTag<T>> vector, T* to, std::int64_t count) {
  HWY_ALIGN T beside[HWY_MAX_BYTES / sizeof(T)];
  store_part(vector, to, count, beside);
}
template <class T>
HWY_INLINE hn::Vec<hn::ScalableTag<T>> load_some(const T* from, std::int64_t count) {
  return count >= lanes_of<T> ? hn::LoadU(hn::ScalableTag<T>(), from) : load_last(from, count);
}
template <class T>
HWY_INLINE void store_some(hn::Vec<hn::ScalableTag<T>> vector, T* to, std::int64_t count) {
  if (count >= lanes_of<T>) {
    hn::StoreU(vector, hn::ScalableTag<T>(), to);
  } else if (count > 0) {
    store_last(vector, to, count);
  }
}

// Calls function(first, count) for blocks of `most` rows. The last two share the rest about equally: a small one would
// wait for each of its sums.
template <class Function>
HWY_INLINE void each_block(std::int64_t rows, std::int64_t most, Function function) {
  std::int64_t row = 0;
  for (; row + 2 * most <= rows; row += most) function(row, most);
  const std::int64_t rest = rows - row, first = rest > most ? (rest + 1) / 2 : rest;
  if (first > 0) function(row, first);
  if (first < rest) function(row + first, rest - first);
}

// The table of panel_rows is apart: with few vectors, looking up a row takes as long as its products.
template <int Rows, int Vectors, bool has_panel_rows, class T>
HWY_NOINLINE void gather_rows(const GatheredProduct<T>& p, std::int64_t row) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::int64_t lanes = lanes_of<T>;
  const T* x[Rows];
  T* out[Rows];
  for (int r = 0; r < Rows; ++r) {
    x[r] = p.x + p.row_offsets[row + r];
    out[r] = p.out + p.out_rows[row + r] * p.out_row;
  }
  V sums[Rows][Vectors];
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) {
      sums[r][v] = hn::Zero(d);
      const T* const from = p.accumulate ? out[r] : p.initial;
      if (from == nullptr) continue;
      sums[r][v] = load_some(from + v * lanes, p.columns - v * lanes);
    }
  }
  for (std::int64_t k = 0; k < p.depth; ++k) {
    const std::int64_t offset = p.depth_offsets[k];
    const T* const panel = p.panel + (has_panel_rows ? p.panel_rows[k] : k) * Vectors * lanes;
    V columns[Vectors];
    for (int v = 0; v < Vectors; ++v) columns[v] = hn::LoadU(d, panel + v * lanes);
    for (int r = 0; r < Rows; ++r) {
      const V factor = hn::Set(d, x[r][offset]);
      for (int v = 0; v < Vectors; ++v) sums[r][v] = hn::MulAdd(factor, columns[v], sums[r][v]);
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) {
      store_some(sums[r][v], out[r] + v * lanes, p.columns - v * lanes);
    }
  }
}

// `count` rows, at most Rows.
template <int Rows, int Vectors, bool has_panel_rows, class T>
HWY_INLINE void gather_some(const GatheredProduct<T>& p, std::int64_t row, std::int64_t count) {
  if constexpr (Rows > 1) {
    if (count < Rows) return gather_some<Rows - 1, Vectors, has_panel_rows>(p, row, count);
  }
  gather_rows<Rows, Vectors, has_panel_rows>(p, row);
}

template <int Vectors, bool has_panel_rows, class T>
void gathered_blocks(const GatheredProduct<T>& p) {
  constexpr int max_rows = gathered_rows(Vectors);
  each_block(p.rows, max_rows, [&](std::int64_t row, std::int64_t count) HWY_ATTR {
    gather_some<max_rows, Vectors, has_panel_rows>(p, row, count);
  });
}
template <int Vectors, class T>
void gathered_vectors(const GatheredProduct<T>& p) {
  p.panel_rows == nullptr ? gathered_blocks<Vectors, false>(p) : gathered_blocks<Vectors, true>(p);
}

template <class T>
void gathered(const GatheredProduct<T>& p) {
  switch ((p.columns + lanes_of<T> - 1) / lanes_of<T>) {
    case 1:
      return gathered_vectors<1>(p);
    case 2:
      return gathered_vectors<2>(p);
    case 3:
      return gathered_vectors<3>(p);
    default:
      return gathered_vectors<max_panel_vectors>(p);
  }
}

template <int Rows, int Vectors, class T>
HWY_INLINE void shift_columns(const ShiftedProduct<T>& p, std::int64_t row, std::int64_t column) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::int64_t lanes = lanes_of<T>;
  T* const out = p.out + row * p.out_row + column;
  V sums[Rows][Vectors];
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) {
      sums[r][v] = p.accumulate ? hn::LoadU(d, out + r * p.out_row + v * lanes)
                                : hn::Set(d, p.initial == nullptr ? T{} : p.initial[row + r]);
    }
  }
  const T* w = p.w + row;
  for (std::int64_t k = 0; k < p.depth; ++k, w += p.rows) {
    const T* const x = p.x + p.depth_offsets[k] + column;
    V columns[Vectors];
    for (int v = 0; v < Vectors; ++v) columns[v] = hn::LoadU(d, x + v * lanes);
    for (int r = 0; r < Rows; ++r) {
      const V factor = hn::Set(d, w[r]);
      for (int v = 0; v < Vectors; ++v) sums[r][v] = hn::MulAdd(factor, columns[v], sums[r][v]);
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) hn::StoreU(sums[r][v], d, out + r * p.out_row + v * lanes);
  }
}

// The columns from `column` on, by blocks of Vectors vectors, then of half as many.
template <int Rows, int Vectors, class T>
HWY_INLINE void shift_rows(const ShiftedProduct<T>& p, std::int64_t row, std::int64_t column) {
  const std::int64_t lanes = lanes_of<T>;
  const std::int64_t end = rounded_up(p.columns, lanes);
  for (; column + Vectors * lanes <= end; column += Vectors * lanes) shift_columns<Rows, Vectors>(p, row, column);
  if constexpr (Vectors > 1) shift_rows<Rows, Vectors / 2>(p, row, column);
}

template <int Rows, class T>
HWY_INLINE void shift_all(const ShiftedProduct<T>& p, std::int64_t& row) {
  for (; row + Rows <= p.rows; row += Rows) shift_rows<Rows, shifted_vectors(Rows)>(p, row, 0);
}

template <class T>
void shifted(const ShiftedProduct<T>& p) {
  std::int64_t row = 0;
  shift_all<6>(p, row);
  shift_all<4>(p, row);
  shift_all<3>(p, row);
  shift_all<2>(p, row);
  shift_all<1>(p, row);
}

// An element beside the columns that count may be infinite, and 0 times that is NaN.
template <class T>
HWY_NOINLINE T dot_inside(const ShiftedDots<T>& p, std::int64_t row, std::int64_t k) {
  T sum{};
  for (std::int64_t column = 0; column < p.columns; ++column) {
    if (column % p.line >= p.inside || column / p.line % p.lines >= p.inside_lines) continue;
    sum += p.y[row * p.y_row + column] * p.x[p.depth_offsets[k] + column];
  }
  return sum;
}

template <int Rows, int Depth, class T>
HWY_INLINE void dot_block(const ShiftedDots<T>& p, std::int64_t row, std::int64_t k) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::int64_t lanes = lanes_of<T>;
  V sums[Depth][Rows];
  const T* x[Depth];
  for (int i = 0; i < Depth; ++i) {
    x[i] = p.x + p.depth_offsets[k + i];
    for (int r = 0; r < Rows; ++r) sums[i][r] = hn::Zero(d);
  }
  const T* const y = p.y + row * p.y_row;
  for (std::int64_t column = 0; column < p.columns; column += lanes) {
    V of_rows[Rows];
    for (int r = 0; r < Rows; ++r) of_rows[r] = hn::LoadU(d, y + r * p.y_row + column);
    for (int i = 0; i < Depth; ++i) {
      const V factor = hn::LoadU(d, x[i] + column);
      for (int r = 0; r < Rows; ++r) sums[i][r] = hn::MulAdd(factor, of_rows[r], sums[i][r]);
    }
  }
  for (int i = 0; i < Depth; ++i) {
    for (int r = 0; r < Rows; ++r) {
      const T sum = hn::GetLane(hn::SumOfLanes(d, sums[i][r]));
      p.out[p.out_rows[k + i] * p.out_row + row + r] += std::isfinite(sum) ? sum : dot_inside(p, row + r, k + i);
    }
  }
}

template <int Rows, int Depth, class T>
HWY_INLINE void dots_of(const ShiftedDots<T>& p, std::int64_t row, std::int64_t& k) {
  for (; k + Depth <= p.depth; k += Depth) dot_block<Rows, Depth>(p, row, k);
}

// `count` rows, at most Rows.
template <int Rows, class T>
HWY_INLINE void some_dots(const ShiftedDots<T>& p, std::int64_t row, std::int64_t count) {
  std::int64_t k = 0;
  if constexpr (Rows > 1) {
    if (count < Rows) return some_dots<Rows - 1>(p, row, count);
    dots_of<Rows, 4>(p, row, k);
  } else {
    dots_of<1, 8>(p, row, k);
    dots_of<1, 2>(p, row, k);
  }
  dots_of<Rows, 1>(p, row, k);
}

template <class T>
void dots(const ShiftedDots<T>& p) {
  each_block(p.rows, dot_rows,
             [&](std::int64_t row, std::int64_t count) HWY_ATTR { some_dots<dot_rows>(p, row, count); });
}

constexpr int plane_rows = 4;
template <int Vectors, class T>
using PlaneSums = hn::Vec<hn::ScalableTag<T>>[plane_rows][Vectors];

// Adds a row of x, which lies under elements [first_m - Last, first_m - First] of the kernel for the outputs' rows First
// to Last.
template <int First, int Last, int Vectors, class T>
HWY_INLINE void add_row(const PlaneProduct<T>& p, const T* x, std::int64_t m, PlaneSums<Vectors, T>& sums) {
  const hn::ScalableTag<T> d;
  const T* const w = p.w + m * p.width;
  for (std::int64_t j = 0; j < p.width; ++j) {
    hn::Vec<decltype(d)> columns[Vectors];
    for (int v = 0; v < Vectors; ++v) columns[v] = hn::LoadU(d, x + p.offsets[j] + v * lanes_of<T>);
    for (int r = First; r <= Last; ++r) {
      const auto factor = hn::Set(d, w[j - r * p.width]);
      for (int v = 0; v < Vectors; ++v) sums[r][v] = hn::MulAdd(factor, columns[v], sums[r][v]);
    }
  }
}

// Up to four rows of outputs at once: each row of x serves all that it lies under.
template <int Vectors, class T>
HWY_INLINE void plane_block(const PlaneProduct<T>& p, std::int64_t row, std::int64_t column) {
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = lanes_of<T>, rows = std::min<std::int64_t>(plane_rows, p.rows - row);
  T* const out = p.out + row * p.out_row + column;
  PlaneSums<Vectors, T> sums;
  for (int r = 0; r < plane_rows; ++r) {
    for (int v = 0; v < Vectors; ++v) sums[r][v] = hn::Set(d, p.initial);
  }
  if (p.accumulate) {
    for (int r = 0; r < plane_rows; ++r) {
      if (r >= rows) continue;
      for (int v = 0; v < Vectors; ++v) {
        sums[r][v] = load_some(out + r * p.out_row + v * lanes, p.columns - column - v * lanes);
      }
    }
  }
  for (std::int64_t under = 0; under < p.depth + rows - 1; ++under) {
    const T* const x = p.x + (row + under) * p.x_row + column;
    const std::int64_t first = std::max<std::int64_t>(0, under - p.depth + 1), last = std::min(rows - 1, under);
    switch (plane_rows * first + last) {
      case 0:
        add_row<0, 0, Vectors>(p, x, under, sums);
        break;
      case 1:
        add_row<0, 1, Vectors>(p, x, under, sums);
        break;
      case 2:
        add_row<0, 2, Vectors>(p, x, under, sums);
        break;
      case 3:
        add_row<0, 3, Vectors>(p, x, under, sums);
        break;
      case 5:
        add_row<1, 1, Vectors>(p, x, under, sums);
        break;
      case 6:
        add_row<1, 2, Vectors>(p, x, under, sums);
        break;
      case 7:
        add_row<1, 3, Vectors>(p, x, under, sums);
        break;
      case 10:
        add_row<2, 2, Vectors>(p, x, under, sums);
        break;
      case 11:
        add_row<2, 3, Vectors>(p, x, under, sums);
        break;
      default:
        add_row<3, 3, Vectors>(p, x, under, sums);
        break;
    }
  }
  for (int r = 0; r < plane_rows; ++r) {
    if (r >= rows) continue;
    for (int v = 0; v < Vectors; ++v) {
      store_some(sums[r][v], out + r * p.out_row + v * lanes, p.columns - column - v * lanes);
    }
  }
}

template <int Vectors, class T>
HWY_INLINE void plane_columns(const PlaneProduct<T>& p, std::int64_t row, std::int64_t column) {
  const std::int64_t lanes = lanes_of<T>, end = rounded_up(p.columns, lanes);
  for (; column + Vectors * lanes <= end; column += Vectors * lanes) plane_block<Vectors>(p, row, column);
  if constexpr (Vectors > 1) plane_columns<Vectors / 2>(p, row, column);
}

template <class T>
void plane(const PlaneProduct<T>& p) {
  for (std::int64_t row = 0; row < p.rows; row += plane_rows) plane_columns<has_32_registers ? 4 : 2>(p, row, 0);
}

template <class T>
ConvProducts<T> products_of() {
  return {lanes_of<T>, max_panel_vectors, gathered<T>, shifted<T>, dots<T>, plane<T>};
}
FloatingLoops<ConvProducts> conv_products() { return {products_of<float>(), products_of<double>()}; }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

HWY_EXPORT(conv_products);

const FloatingLoops<ConvProducts>& conv_products() {
  static const auto loops = HWY_DYNAMIC_DISPATCH(conv_products)();
  return loops;
}

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
