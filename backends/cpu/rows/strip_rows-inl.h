// The rows of a strip many at a time, for each instruction set. Internal.
#include "asyncgrad/backends/cpu/rows/short_row-inl.h"
#include "asyncgrad/backends/cpu/vectors/fold_rows-inl.h"
#include "asyncgrad/backends/cpu/vectors/rows-inl.h"

#if defined(ASYNCGRAD_STRIP_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ASYNCGRAD_STRIP_ROWS_INL
#undef ASYNCGRAD_STRIP_ROWS_INL
#else
#define ASYNCGRAD_STRIP_ROWS_INL
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "asyncgrad/backends/cpu/rows/axis_strips.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

// Rows of fewer elements have no loop that prefetches.
inline constexpr std::int64_t prefetching_row = 256;

// out[i] = reduce(row i, its number of elements).
template <class T, class Reduce>
HWY_INLINE void each_row(const Strip<T>& strip, T* out, Reduce reduce) {
  for (std::int64_t row = 0; row < strip.rows; ++row) {
    const T* const x = strip.data + row * strip.stride;
    if (strip.columns < prefetching_row) prefetch(x + prefetched_ahead, strip.columns);
    out[row] = reduce(x, strip.columns);
  }
}

// Four rows of the strip's columns, unless these are few.
template <class T>
HWY_INLINE void prefetch_rows(const T* x, const Strip<T>& strip) {
  if (strip.columns < 16) return;
  for (int row = 0; row < 4; ++row) prefetch(x + row * strip.stride, strip.columns);
}

// The most vectors of rows that are folded many at a time: each of them has a running result of its own.
template <class T>
inline constexpr std::size_t many_rows_vectors = std::min<std::size_t>(running_vectors<T>, 8);
template <class T>
inline constexpr std::int64_t longest_of_many_rows = static_cast<std::int64_t>(many_rows_vectors<T>) * lanes_of<T>;

// out[i] = the fold of row i, with the bits of a row that is folded alone. Rows have at least `vectors` vectors.
template <class RowsReducer, std::size_t vectors = 1, class T>
void fold_many_rows(const Strip<T>& strip, T* out) {
  if constexpr (vectors < many_rows_vectors<T>) {
    if (strip.columns > static_cast<std::int64_t>(vectors) * lanes_of<T>) {
      return fold_many_rows<RowsReducer, vectors + 1>(strip, out);
    }
  }
  const ShortRow<T, vectors> shape(strip.columns);
  const auto vector_of = [&](std::int64_t row) HWY_ATTR {
    const T* const x = strip.data + row * strip.stride;
    prefetch(x + prefetched_ahead, strip.columns);
    return RowsReducer::vector_of(shape, x);
  };
  fold_rows(strip.rows, vector_of, typename RowsReducer::Combine(), out);
}

// The rows of fewer columns than a vector has lanes that can be read by whole vectors: those after which the strip has
// memory for the other lanes, whose results nobody wants. A multiple of eight rows.
template <class T>
HWY_INLINE std::int64_t rows_of_whole_vectors(const Strip<T>& strip) {
  const std::int64_t elements = (strip.rows - 1) * strip.stride + strip.columns;
  if (strip.columns >= lanes_of<T> || elements < lanes_of<T>) return 0;
  return ((elements - lanes_of<T>) / strip.stride + 1) / 8 * 8;
}

// Rows that lie one behind the other.
template <class T>
HWY_INLINE void prefetch_narrow_rows(const Strip<T>& strip, std::int64_t begin, std::int64_t end) {
  if (strip.stride > strip.columns) return;
  prefetch(strip.data + begin * strip.stride + prefetched_ahead, (end - begin) * strip.stride);
}

// combine(later, earlier), of the rows x, x + stride, … in pairs, each a vector.
template <class T, class Row, class Combine>
HWY_INLINE Lanes<T> eight_rows_in_pairs(const T* x, std::int64_t stride, Row row, Combine combine) {
  const auto pair = [&](const T* first) HWY_ATTR { return combine(row(first + stride), row(first)); };
  const auto four = [&](const T* first) HWY_ATTR { return combine(pair(first + 2 * stride), pair(first)); };
  return combine(four(x + 4 * stride), four(x));
}

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASYNCGRAD_STRIP_ROWS_INL
