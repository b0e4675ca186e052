// softmax and related functions of one contiguous row. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/backends/cpu/dispatch.h"

namespace asyncgrad::detail {

// Rows have n > 0 elements. An output may be the same row as an input.
template <class T>
struct SoftmaxRows {
  void (*softmax)(const T* x, T* out, std::int64_t n);
  void (*softmax_grad)(const T* y, const T* dy, T* dx, std::int64_t n);  // y (dy - sum(y dy))
  void (*log_softmax)(const T* x, T* out, std::int64_t n);
  void (*log_softmax_grad)(const T* y, const T* dy, T* dx, std::int64_t n);  // dy - e^y sum(dy)
  T (*cross_entropy)(const T* x, std::int64_t label, std::int64_t n);        // -log softmax(x)[label]
  // dy (softmax(x) - one at label)
  void (*cross_entropy_grad)(const T* x, std::int64_t label, T dy, T* dx, std::int64_t n);
};

// The functions for the best instruction set that this processor has.
const FloatingLoops<SoftmaxRows>& softmax_rows();

}  // namespace asyncgrad::detail
