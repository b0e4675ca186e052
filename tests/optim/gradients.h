// The common functions of the optimisers' tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"

namespace asyncgrad::optim {

using Values = std::vector<double>;

inline Tensor leaf(const Values& values) { return parameter(Tensor::from(values, {values.size()})); }
// Adds `gradient` to the gradient of the leaf.
inline void give_gradient(const Tensor& leaf, const Values& gradient) {
  sum(leaf * Tensor::from(gradient, leaf.shape())).backward();
}
inline Values gradient_of_step(int step, std::size_t size) {
  Values gradient(size);
  for (std::size_t i = 0; i < size; ++i) gradient[i] = std::sin(1 + 3.0 * step + static_cast<double>(i));
  return gradient;
}

// Takes steps with an optimiser, and expects that each of its parameters follows its reference. All but the first
// parameter have no gradient at the steps 0 and 3: they begin later, and are skipped once.
template <class Reference>
void expect_steps_of(std::vector<Reference> references, Optimizer& optimizer) {
  const std::vector<Tensor>& parameters = optimizer.parameters();
  for (int step = 0; step < 6; ++step) {
    optimizer.zero_grad();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (i > 0 && step % 3 == 0) continue;
      const Values gradient = gradient_of_step(step, references[i].parameter().size());
      give_gradient(parameters[i], gradient);
      references[i].step(gradient);
    }
    optimizer.step();
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_THAT(parameters[i].to_vector<double>(),
                testing::Pointwise(testing::DoubleNear(1e-12), references[i].parameter()));
  }
}

}  // namespace asyncgrad::optim
