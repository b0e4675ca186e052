// Parameters with gradients made for tests of optimisers.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "asyncgrad/asyncgrad.h"

namespace asyncgrad::optim {

using Values = std::vector<double>;

// A leaf, and its gradient made `gradient`.
inline Tensor leaf(const Values& values) { return parameter(Tensor::from(values, {values.size()})); }
inline void give_gradient(const Tensor& leaf, const Values& gradient) {
  sum(leaf * Tensor::from(gradient, leaf.shape())).backward();
}
inline Values gradient_of_step(int step, std::size_t size) {
  Values gradient(size);
  for (std::size_t i = 0; i < size; ++i) gradient[i] = std::sin(1 + 3.0 * step + static_cast<double>(i));
  return gradient;
}

}  // namespace asyncgrad::optim
