// The constants of one step of Adam. Internal.
#pragma once

#include <cmath>
#include <cstdint>

#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail {

// g' = g + decay p;   m = beta1 m + rest1 g';   v = beta2 v + rest2 g' g'
// p = keep p - step_size m / (sqrt(v) inverse_root + epsilon)
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

// The constants of step `step`, counted from 1. The function is constexpr, so that a GPU's kernels may call it.
template <class T>
constexpr AdamNumbers<T> adam_numbers(const AdamAttributes& a, std::int64_t step) {
  const auto t = static_cast<double>(step);
  const double correction1 = 1 - std::pow(a.beta1, t), correction2 = 1 - std::pow(a.beta2, t);
  return {.beta1 = static_cast<T>(a.beta1),
          .rest1 = static_cast<T>(1 - a.beta1),
          .beta2 = static_cast<T>(a.beta2),
          .rest2 = static_cast<T>(1 - a.beta2),
          .epsilon = static_cast<T>(a.epsilon),
          .step_size = static_cast<T>(a.lr / correction1),
          .inverse_root = static_cast<T>(1 / std::sqrt(correction2)),
          .decay = static_cast<T>(a.decoupled_weight_decay ? 0 : a.weight_decay),
          .keep = static_cast<T>(a.decoupled_weight_decay ? 1 - a.lr * a.weight_decay : 1)};
}

}  // namespace asyncgrad::detail
