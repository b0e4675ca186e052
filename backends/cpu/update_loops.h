// The inner loops of optimisers. Internal.
#pragma once

#include <cstdint>

namespace asyncgrad::detail {

template <class T>
struct SgdNumbers {
  T lr, momentum, weight_decay;
};

// Of one step: `step_size` and `inverse_root` hold the bias corrections.
template <class T>
struct AdamNumbers {
  T beta1, rest1;  // rest = 1 - beta
  T beta2, rest2;
  T epsilon;
  T step_size;     // lr / (1 - beta1^t)
  T inverse_root;  // 1 / sqrt(1 - beta2^t)
  T decay;         // weight_decay, or 0 if it is decoupled
  T keep;          // 1, or 1 - lr weight_decay if it is decoupled
};

// Each goes once through `n` elements of arrays that do not overlap; an element's bits depend on its inputs alone, not
// on its place, on n or on the instruction set. Nothing is fused.
template <class T>
struct UpdateLoops {
  // g' = g + weight_decay p;   p -= lr g'
  void (*sgd)(const SgdNumbers<T>& numbers, T* p, const T* g, std::int64_t n);
  // v = momentum v + g';   p -= lr v
  void (*sgd_momentum)(const SgdNumbers<T>& numbers, T* p, T* v, const T* g, std::int64_t n);
  // v = momentum v + g';   p -= lr (g' + momentum v)
  void (*sgd_nesterov)(const SgdNumbers<T>& numbers, T* p, T* v, const T* g, std::int64_t n);
  // g' = g + decay p;   m = beta1 m + rest1 g';   v = beta2 v + rest2 g' g'
  // p = keep p - step_size m / (sqrt(v) inverse_root + epsilon)
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
