// The inner loops of optimisers. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/backends/adam_numbers.h"

namespace asyncgrad::detail {

template <class T>
struct SgdNumbers {
  T lr, momentum, weight_decay;
};

template <class T>
struct AdagradNumbers {
  T lr, epsilon, weight_decay;
};

template <class T>
struct RmspropNumbers {
  T lr, alpha, rest;  // rest = 1 - alpha
  T epsilon, weight_decay, momentum;
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
  // s += g' g';   p -= lr g' / (sqrt(s) + epsilon)
  void (*adagrad)(const AdagradNumbers<T>& numbers, T* p, T* s, const T* g, std::int64_t n);
  // v = alpha v + rest g' g';   d = g' / (sqrt(v) + epsilon)
  //   centered:   m = alpha m + rest g', and v - m m, at least 0, in place of v under the root
  //   momentum:   b = momentum b + d, and b in place of d
  // p -= lr d
  void (*rmsprop)(const RmspropNumbers<T>& numbers, T* p, T* v, const T* g, std::int64_t n);
  void (*rmsprop_centered)(const RmspropNumbers<T>& numbers, T* p, T* v, T* m, const T* g, std::int64_t n);
  void (*rmsprop_momentum)(const RmspropNumbers<T>& numbers, T* p, T* v, T* b, const T* g, std::int64_t n);
  void (*rmsprop_centered_momentum)(const RmspropNumbers<T>& numbers, T* p, T* v, T* m, T* b, const T* g,
                                    std::int64_t n);
};

// The functions for the best instruction set that this processor has.
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
