// Transposes matrices, for each instruction set. Internal.
#include <hwy/highway.h>

#if defined(ASYNCGRAD_TRANSPOSE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ASYNCGRAD_TRANSPOSE_INL
#undef ASYNCGRAD_TRANSPOSE_INL
#else
#define ASYNCGRAD_TRANSPOSE_INL
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

// to[j * to_row + i] = from[i * from_row + j] for a square as wide as 16 bytes, of elements of 4 or 8 bytes.
template <class T>
HWY_INLINE void transpose_square(const T* from, std::int64_t from_row, T* to, std::int64_t to_row) {
  if constexpr (sizeof(T) == 4) {
    using Four = float __attribute__((vector_size(16)));
    Four rows[4];
    for (int r = 0; r < 4; ++r) std::memcpy(&rows[r], from + r * from_row, sizeof(Four));
    const Four low01 = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
    const Four low23 = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
    const Four high01 = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
    const Four high23 = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
    const Four columns[4] = {
        __builtin_shufflevector(low01, low23, 0, 1, 4, 5), __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
        __builtin_shufflevector(high01, high23, 0, 1, 4, 5), __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
    for (int c = 0; c < 4; ++c) std::memcpy(to + c * to_row, &columns[c], sizeof(Four));
  } else {
    static_assert(sizeof(T) == 8);
    using Two = double __attribute__((vector_size(16)));
    Two rows[2];
    for (int r = 0; r < 2; ++r) std::memcpy(&rows[r], from + r * from_row, sizeof(Two));
    const Two columns[2] = {__builtin_shufflevector(rows[0], rows[1], 0, 2),
                            __builtin_shufflevector(rows[0], rows[1], 1, 3)};
    for (int c = 0; c < 2; ++c) std::memcpy(to + c * to_row, &columns[c], sizeof(Two));
  }
}

#if HWY_MAX_BYTES >= 64
using Line = float __attribute__((vector_size(64)));
constexpr bool has_lines = true;

// These take the first two elements of each quarter of two lines in turn, or its last two.
HWY_INLINE Line lower_in_turn(Line a, Line b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
}
HWY_INLINE Line upper_in_turn(Line a, Line b) {
  return __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
}
// These take the first half of each quarter of a and then of b, or the second half.
HWY_INLINE Line lower_halves(Line a, Line b) {
  return __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
}
HWY_INLINE Line upper_halves(Line a, Line b) {
  return __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
}
// These take the quarters 0 and 2 of a and of b, or 1 and 3.
HWY_INLINE Line even_quarters(Line a, Line b) {
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
}
HWY_INLINE Line odd_quarters(Line a, Line b) {
  return __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
}

// Does as transpose_square(), for a square as wide as a line of the memory: first the squares of 4 x 4 in it, of which
// quarters[c][r] has the columns c of those in one row, and then these.
template <class T>
HWY_INLINE void transpose_lines(const T* from, std::int64_t from_row, T* to, std::int64_t to_row) {
  static_assert(sizeof(T) == 4);
  Line quarters[4][4];
  for (int r = 0; r < 4; ++r) {
    Line rows[4];
    for (int i = 0; i < 4; ++i) std::memcpy(&rows[i], from + (4 * r + i) * from_row, sizeof(Line));
    const Line low01 = lower_in_turn(rows[0], rows[1]), low23 = lower_in_turn(rows[2], rows[3]);
    const Line high01 = upper_in_turn(rows[0], rows[1]), high23 = upper_in_turn(rows[2], rows[3]);
    quarters[0][r] = lower_halves(low01, low23), quarters[1][r] = upper_halves(low01, low23);
    quarters[2][r] = lower_halves(high01, high23), quarters[3][r] = upper_halves(high01, high23);
  }
  for (int c = 0; c < 4; ++c) {
    const Line even01 = even_quarters(quarters[c][0], quarters[c][1]);
    const Line odd01 = odd_quarters(quarters[c][0], quarters[c][1]);
    const Line even23 = even_quarters(quarters[c][2], quarters[c][3]);
    const Line odd23 = odd_quarters(quarters[c][2], quarters[c][3]);
    const Line columns[4] = {even_quarters(even01, even23), even_quarters(odd01, odd23), odd_quarters(even01, even23),
                             odd_quarters(odd01, odd23)};
    for (int i = 0; i < 4; ++i) std::memcpy(to + (4 * i + c) * to_row, &columns[i], sizeof(Line));
  }
}
#else
constexpr bool has_lines = false;
#endif

// to[j * to_row + i] = from[i * from_row + j] for i < rows and j < columns. It goes by as many rows as make a line of
// the memory, so that each line of `to` is written at once: they may be far apart, and evict each other.
template <class T>
HWY_INLINE void transpose(const T* from, std::int64_t from_row, std::int64_t rows, std::int64_t columns, T* to,
                          std::int64_t to_row) {
  constexpr std::int64_t square = 16 / static_cast<std::int64_t>(sizeof(T)), line = 4 * square;
  for (std::int64_t first = 0; first < rows; first += line) {
    const std::int64_t end = std::min(rows, first + line), whole = end - end % square;
    std::int64_t j = 0;
    if constexpr (has_lines && sizeof(T) == 4) {
      for (; end - first == line && j + line <= columns; j += line) {
        transpose_lines(from + first * from_row + j, from_row, to + j * to_row + first, to_row);
      }
    }
    for (; j + square <= columns; j += square) {
      for (std::int64_t i = first; i < whole; i += square) {
        transpose_square(from + i * from_row + j, from_row, to + j * to_row + i, to_row);
      }
      for (std::int64_t i = whole; i < end; ++i) {
        for (std::int64_t c = j; c < j + square; ++c) to[c * to_row + i] = from[i * from_row + c];
      }
    }
    for (; j < columns; ++j) {
      for (std::int64_t i = first; i < end; ++i) to[j * to_row + i] = from[i * from_row + j];
    }
  }
}

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASYNCGRAD_TRANSPOSE_INL
