// Gradients against differences.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "asyncgrad/asyncgrad.h"

namespace asyncgrad::tests {

// Expects that backward() gives the gradients of `compute()` (float64, any shape) in every one of `leaves`, by
// comparing with central differences. The elements of the result get different weights, so that errors do not cancel.
inline void check_gradients(const std::function<Tensor()>& compute, std::vector<Tensor> leaves) {
  const auto weighted = [&] {
    const Tensor result = compute();
    const Tensor weights = arange(1, 1 + result.numel(), 1, {.dtype = float64});
    return sum(result.reshape({result.numel()}) * weights);
  };
  for (Tensor& leaf : leaves) leaf.zero_grad();
  weighted().backward();
  for (std::size_t which = 0; which < leaves.size(); ++which) {
    Tensor& leaf = leaves[which];
    ASSERT_TRUE(leaf.grad().defined()) << "leaf " << which;
    const std::vector<double> gradient = leaf.grad().to_vector<double>(), values = leaf.to_vector<double>();
    const auto set = [&](const std::vector<double>& elements) {
      const NoGrad no_grad;
      leaf.copy_(Tensor::from(elements, leaf.shape()));
    };
    const auto at = [&](std::size_t i, double value) {
      std::vector<double> moved = values;
      moved[i] = value;
      set(moved);
      return weighted().item();
    };
    constexpr double step = 1e-5;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double difference = (at(i, values[i] + step) - at(i, values[i] - step)) / (2 * step);
      EXPECT_NEAR(gradient[i], difference, 1e-6 * (1 + std::abs(difference)))
          << "element " << i << " of leaf " << which;
    }
    set(values);
  }
}

}  // namespace asyncgrad::tests
