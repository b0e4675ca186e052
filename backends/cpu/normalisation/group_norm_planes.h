// group_norm and its gradient of contiguous groups of planes. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/backends/cpu/dispatch.h"

namespace asyncgrad::detail {

// Rows that lie beside each other: groups of samples, each of `channels` planes with `inner` elements. Pointers point
// to the first row, except for weight and bias, which point to the first channel of a sample.
template <class T>
struct GroupNormBlock {
  std::int64_t rows, channels, inner;
  std::int64_t group, groups;  // that of the first row, and how many a sample has
  double epsilon;
  const T* x;
  const T* weight;  // of each channel, or null, which stands for ones
  const T* bias;    // or null, which stands for zeros; only forwards
  const T* dy;      // only backwards
  T* out;           // y, or dx
  T* mean;          // of each row; written forwards, read backwards
  T* inverse;       // 1 / sqrt(variance + epsilon) of each row, likewise
  T* dweight;       // of each channel of each row the sum of dy (x - mean) inverse, or null; only backwards
  T* dbias;         // and that of dy
};

template <class T>
struct GroupNormPlanes {
  void (*forward)(const GroupNormBlock<T>& block);
  void (*backward)(const GroupNormBlock<T>& block);
};

// The functions for the best instruction set that this processor has.
const FloatingLoops<GroupNormPlanes>& group_norm_planes();

}  // namespace asyncgrad::detail
