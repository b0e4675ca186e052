// Gradients against central differences, in float64.
#pragma once

#include <functional>
#include <vector>

#include "tests/autograd/support.h"

namespace asyncgrad::tests {

using Function = std::function<Tensor(const std::vector<Tensor>& inputs)>;

// A scalar of which every element of f's result is a part with a weight of its own.
inline Tensor weighted(const Tensor& result) { return sum(result * random64(result.shape(), 99, 0.5, 1.5)); }

inline double evaluate(const Function& f, const std::vector<Tensor>& inputs) {
  const NoGrad no_grad;
  return weighted(f(inputs)).item();
}

// d weighted(f) / d inputs[which], by differences.
inline std::vector<double> differences(const Function& f, std::vector<Tensor> inputs, std::size_t which) {
  constexpr double step = 1e-5;
  const Shape shape = inputs[which].shape();
  const std::vector<double> at = values(inputs[which].detach());
  std::vector<double> result;
  for (std::size_t i = 0; i < at.size(); ++i) {
    std::vector<double> moved = at;
    const auto value_at = [&](double x) {
      moved[i] = x;
      inputs[which] = float64_tensor(moved, shape);
      return evaluate(f, inputs);
    };
    const double above = value_at(at[i] + step), below = value_at(at[i] - step);
    result.push_back((above - below) / (2 * step));
  }
  return result;
}

// Checks the gradients of f in every input, all wanted at once and each wanted alone. No gradient counts as zero.
inline void check_gradients(const Function& f, const std::vector<Tensor>& inputs) {
  for (std::size_t alone = 0; alone <= inputs.size(); ++alone) {
    std::vector<Tensor> leaves;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      leaves.push_back(inputs[i].clone());
      if (alone == i || alone == inputs.size()) leaves.back().requires_grad_();
    }
    weighted(f(leaves)).backward();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      SCOPED_TRACE("input " + std::to_string(i) + (alone == inputs.size() ? ", of all" : ", alone"));
      if (!leaves[i].requires_grad()) {
        EXPECT_FALSE(leaves[i].grad().defined());
        continue;
      }
      const std::vector<double> expected = differences(f, inputs, i);
      if (!leaves[i].grad().defined()) {
        for (const double slope : expected) EXPECT_EQ(slope, 0);
        continue;
      }
      EXPECT_EQ(leaves[i].grad().shape(), inputs[i].shape());
      expect_near(leaves[i].grad(), expected, 1e-7);
    }
  }
}

}  // namespace asyncgrad::tests
