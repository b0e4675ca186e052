// The inner loops of optimisers. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/backends/adam_numbers.h"

namespace asyncgrad::detail {

template <class T>
struct SgdNumbers {
  T lr, momentum, weight_decay;
};

// Each loop passes once over `n` elements of arrays that do not overlap. An element's bits depend on its inputs alone,
// not on its index, on n or on the instruction set. Products are not fused with sums.
template <class T>
struct UpdateLoops {
  // g' = g + weight_decay p;   p -= lr g'
  void (*sgd)(const SgdNumbers<T>& numbers, T* p, const T* g, std::int64_t n);
  // v = momentum v + g';   p -= lr v
  void (*sgd_momentum)(const SgdNumbers<T>& numbers, T* p, T* v, const T* g, std::int64_t n);
  // v = momentum v + g';   p -= lr (g' + momentum v)
  void (*sgd_nesterov)(const SgdNumbers<T>& numbers, T* p, T* v, const T* g, std::int64_t n);
  // The formula is in adam_numbers.h.
  void (*adam)(const AdamNumbers<T>& numbers, T* p, T* m, T* v, const T* g, std::int64_t n);
};

// For the best instruction set that this processor has.
const UpdateLoops<float>& float32_updates();
const UpdateLoops<double>& float64_updates();
template <class T>
const UpdateLoops<T>& updates_of();
template <>
inline const UpdateLoops<float>& updates_of() {
  return float32_updates();
}
template <>
inline const UpdateLoops<double>& updates_of() {
  return float64_updates();
}

}  // namespace asyncgrad::detail
