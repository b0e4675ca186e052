// softmax and related functions of lines along an axis. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/backends/cpu/dispatch.h"

namespace asyncgrad::detail {

// Lines of n > 0 elements. Either the elements of a line are adjacent (step 1), and the lines follow each other, or the
// lines lie side by side, and the elements of a line are `step` apart. The output may be an input.
template <class T>
struct SoftmaxLines {
  std::int64_t count, n, step;
  const T* x;   // or y, for a gradient
  const T* dy;  // for a gradient
  T* out;
  T* scratch;  // softmax_scratch(n, step) elements
};

template <class T>
struct SoftmaxRows {
  void (*softmax)(const SoftmaxLines<T>& lines);
  void (*softmax_grad)(const SoftmaxLines<T>& lines);  // y (dy - sum(y dy))
  void (*log_softmax)(const SoftmaxLines<T>& lines);
  void (*log_softmax_grad)(const SoftmaxLines<T>& lines);  // dy - e^y sum(dy)

  // Rows have step 1 and a label each, and dy has an element for each.
  void (*cross_entropy)(const SoftmaxLines<T>& rows, const std::int64_t* labels);  // -log softmax(x)[label]
  void (*cross_entropy_grad)(const SoftmaxLines<T>& rows,
                             const std::int64_t* labels);  // dy (softmax(x) - one at label)
};

// The longest rows that are turned into columns: then a vector has elements of many of them.
inline constexpr std::int64_t longest_turned_row = 16;
// The number of such rows at once.
inline constexpr std::int64_t rows_turned_at_once = 64;
// The elements of scratch for lines of n elements, for up to two inputs and the output.
constexpr std::int64_t softmax_scratch(std::int64_t n, std::int64_t step) {
  return step == 1 && n <= longest_turned_row ? 3 * n * rows_turned_at_once : 0;
}

// The functions for the best instruction set that this processor has.
const FloatingLoops<SoftmaxRows>& softmax_rows();

}  // namespace asyncgrad::detail
