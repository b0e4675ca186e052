// layer_norm, rms_norm and their gradients of contiguous rows. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/backends/cpu/dispatch.h"

namespace asyncgrad::detail {

// Rows of n elements. For the gradient n is at least 1.
template <class T>
struct NormBlock {
  std::int64_t rows, n;
  double epsilon;
  bool is_rms;  // the mean counts as 0
  const T* x;
  const T* weight;  // or null, which stands for ones
  const T* bias;    // or null, which stands for zeros; only forwards
  const T* dy;      // only backwards
  T* out;           // y, or dx
  T* mean;          // of each row; written forwards, read backwards
  T* inverse;       // 1 / sqrt(variance + epsilon) of each row, likewise
  T* dweight;       // the sums of dy (x - mean) inverse and of dy over all rows, or null; only backwards
  T* dbias;
  T* running;  // 2 n elements that backwards uses meanwhile
};

template <class T>
struct NormRows {
  void (*forward)(const NormBlock<T>& block);
  void (*backward)(const NormBlock<T>& block);
};

// The functions for the best instruction set that this processor has.
const FloatingLoops<NormRows>& norm_rows();

}  // namespace asyncgrad::detail
