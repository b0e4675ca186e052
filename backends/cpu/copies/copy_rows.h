// Copies of rows, with special care for short ones. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail {

// A call of memcpy takes longer than a few moves of constant size, and much longer on some processors if both addresses
// have nearly the same place in their pages, as those of rows that are shifted have.
template <class T>
inline void copy_short(T* out, const T* in, std::int64_t count) {
  while (count >= 8) {
    std::memcpy(out, in, 8 * sizeof(T));
    out += 8, in += 8, count -= 8;
  }
  if (count >= 4) {
    std::memcpy(out, in, 4 * sizeof(T));
    out += 4, in += 4, count -= 4;
  }
  if (count >= 2) {
    std::memcpy(out, in, 2 * sizeof(T));
    out += 2, in += 2, count -= 2;
  }
  if (count != 0) *out = *in;
}

// Copies `rows` rows of `columns` adjacent elements. The strides are the distances between rows.
template <class T>
void copy_rows(T* out, std::int64_t out_stride, const T* in, std::int64_t in_stride, std::int64_t rows,
               std::int64_t columns) {
  constexpr std::int64_t longest_short = 8192 / static_cast<std::int64_t>(sizeof(T));
  if (columns == 1) {
    for (std::int64_t row = 0; row < rows; ++row) out[row * out_stride] = in[row * in_stride];
  } else if (columns <= longest_short) {
    for (std::int64_t row = 0; row < rows; ++row) copy_short(out + row * out_stride, in + row * in_stride, columns);
  } else {
    for (std::int64_t row = 0; row < rows; ++row) {
      std::memcpy(out + row * out_stride, in + row * in_stride, static_cast<std::size_t>(columns) * sizeof(T));
    }
  }
}

}  // namespace asyncgrad::detail
