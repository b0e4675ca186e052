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

// to[j * to_row + i] = from[i * from_row + j] for i < rows and j < columns. It goes by as many rows as make a line of
// the memory, so that each line of `to` is written at once: they may be far apart, and evict each other.
template <class T>
HWY_INLINE void transpose(const T* from, std::int64_t from_row, std::int64_t rows, std::int64_t columns, T* to,
                          std::int64_t to_row) {
  constexpr std::int64_t square = 16 / static_cast<std::int64_t>(sizeof(T)), line = 4 * square;
  for (std::int64_t first = 0; first < rows; first += line) {
    const std::int64_t end = std::min(rows, first + line), whole = end - end % square;
    std::int64_t j = 0;
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
