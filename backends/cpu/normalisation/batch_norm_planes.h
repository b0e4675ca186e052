// batch_norm and its gradient, for some channels of all samples. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/backends/cpu/dispatch.h"

namespace asyncgrad::detail {

// Some channels of x (outer, C, inner) that lie beside each other; pointers point to the first one.
template <class T>
struct BatchNormBlock {
  std::int64_t outer, channels, inner;
  std::int64_t step;  // from one sample to the next: C inner
  double epsilon;
  bool is_given;  // the statistics are constants
  const T* x;
  const T* weight;               // of each channel, or null, which stands for ones
  const T* bias;                 // or null, which stands for zeros; only forwards
  const T* dy;                   // only backwards
  T* out;                        // y, or dx
  T *mean, *variance, *inverse;  // 1 / sqrt(variance + epsilon); written forwards unless they are given, else read
  T *dweight, *dbias;            // or null; only backwards
  // Scratch memory: batch_norm_sums and batch_norm_running elements for each channel.
  double* sums;
  T* running;
};
inline constexpr std::int64_t batch_norm_sums = 2;
constexpr std::int64_t batch_norm_running(std::int64_t inner) { return inner == 1 ? 4 : 128; }

template <class T>
struct BatchNormPlanes {
  void (*forward)(const BatchNormBlock<T>& block);
  void (*backward)(const BatchNormBlock<T>& block);
};

// The functions for the best instruction set that this processor has.
const FloatingLoops<BatchNormPlanes>& batch_norm_planes();

}  // namespace asyncgrad::detail
