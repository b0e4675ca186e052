// Gradients against central differences, in float64.
#pragma once

#include <functional>
#include <vector>

#include "asyncgrad/autograd/budget/plan.h"
#include "tests/autograd/support.h"

namespace asyncgrad::tests {

using Function = std::function<Tensor(const std::vector<Tensor>& inputs)>;

// The sum of the elements of f's result, each with a weight of its own.
inline Tensor weighted(const Tensor& result) {
  return sum(result * random64(result.shape(), 99, 0.5, 1.5).to(result.dtype()));
}

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

// The gradients of weighted(f) in the leaves. They may be written over the gradient of f's result, unless that
// `is_held`, because it is asked for, too.
inline std::vector<Tensor> gradients_of(const Function& f, const std::vector<Tensor>& leaves, bool is_held) {
  const Tensor y = f(leaves);
  std::vector<Tensor> inputs;
  for (const Tensor& leaf : leaves) {
    if (leaf.requires_grad()) inputs.push_back(leaf);
  }
  if (is_held) inputs.push_back(y);
  std::vector<Tensor> gradients = grad(weighted(y), inputs, {}, {.allow_unused = true});
  if (is_held) gradients.pop_back();
  return gradients;
}

inline void expect_same_bits(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected) {
  for (std::size_t i = 0; i < actual.size(); ++i) {
    SCOPED_TRACE("gradient " + std::to_string(i));
    ASSERT_EQ(actual[i].defined(), expected[i].defined());
    if (!actual[i].defined()) continue;
    EXPECT_EQ(bits(actual[i]), bits(expected[i]));
  }
}

// Expects the same bits in both cases.
inline void check_writing_over(const Function& f, const std::vector<Tensor>& leaves) {
  SCOPED_TRACE("written over another gradient");
  if (!f(leaves).requires_grad()) return;
  expect_same_bits(gradients_of(f, leaves, false), gradients_of(f, leaves, true));
}

// Expects the same bits if every saved value that may be computed again is dropped.
inline void check_dropping(const Function& f, const std::vector<Tensor>& leaves) {
  SCOPED_TRACE("saved values dropped");
  if (!f(leaves).requires_grad()) return;
  const std::vector<Tensor> expected = gradients_of(f, leaves, true);
  const EngineOptions before = engine_options();
  EngineOptions options = before;
  options.schedule = Schedule::oldest_first;
  options.memory_budget = MemoryBudget::bytes(1 << 30);
  options.recompute_to_fit = true;
  set_engine_options(options);
  detail::Plan::get().drop_all(true);
  const std::vector<Tensor> found = gradients_of(f, leaves, true);
  detail::Plan::get().drop_all(false);
  set_engine_options(before);
  expect_same_bits(found, expected);
}

// Checks the gradients of f with respect to every input, all wanted at once and each wanted alone. A missing gradient
// counts as zero.
inline void check_gradients(const Function& f, const std::vector<Tensor>& inputs) {
  for (std::size_t alone = 0; alone <= inputs.size(); ++alone) {
    std::vector<Tensor> leaves;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      leaves.push_back(inputs[i].clone());
      if (alone == i || alone == inputs.size()) leaves.back().requires_grad_();
    }
    check_writing_over(f, leaves);
    check_dropping(f, leaves);
    weighted(f(leaves)).backward();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      SCOPED_TRACE("input " + std::to_string(i) + (alone == inputs.size() ? ", of all" : ", alone"));
      if (!leaves[i].requires_grad()) {
        EXPECT_FALSE(leaves[i].grad().defined());
        continue;
      }
      const std::vector<double> expected = differences(f, inputs, i);
      if (!leaves[i].grad().defined()) {
        for (const double difference : expected) EXPECT_EQ(difference, 0);
        continue;
      }
      EXPECT_EQ(leaves[i].grad().shape(), inputs[i].shape());
      expect_near(leaves[i].grad(), expected, 1e-7);
    }
  }
}

// A scalar whose gradients are those of f of the next order: weighted(f) for order 0. For order n + 1 it is the sum of
// all elements of the gradients of order n, each with a weight of its own.
inline Tensor of_order(int order, const Function& f, const std::vector<Tensor>& leaves) {
  if (order == 0) return weighted(f(leaves));
  const Tensor below = of_order(order - 1, f, leaves);
  Tensor total = zeros({}, {.dtype = float64});
  if (!below.requires_grad()) return total;
  const std::vector<Tensor> gradients = grad(below, leaves, {}, {.create_graph = true, .allow_unused = true});
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].defined()) total = total + sum(gradients[i] * random64(gradients[i].shape(), 70 + i, 0.5, 1.5));
  }
  return total;
}

inline std::vector<Tensor> leaves_of(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> leaves;
  for (const Tensor& input : inputs) leaves.push_back(parameter(input.detach().clone()));
  return leaves;
}

// Checks the gradients of of_order(order), which for order 1 are the second derivatives of f.
inline void check_derivatives(int order, const Function& f, const std::vector<Tensor>& inputs,
                              double tolerance = 1e-6) {
  constexpr double step = 1e-5;
  const std::vector<Tensor> leaves = leaves_of(inputs);
  const Tensor y = of_order(order, f, leaves);
  // The gradients are the same whether they have a history or not.
  const Tensor z = weighted(f(leaves));
  if (z.requires_grad()) {
    const std::vector<Tensor> recorded = grad(z, leaves, {}, {.create_graph = true, .allow_unused = true});
    const std::vector<Tensor> plain = grad(z, leaves, {}, {.allow_unused = true});
    for (std::size_t i = 0; i < plain.size(); ++i) {
      ASSERT_EQ(plain[i].defined(), recorded[i].defined());
      if (plain[i].defined()) expect_near(recorded[i], values(plain[i]));
    }
  }
  std::vector<Tensor> gradients(leaves.size());
  if (y.requires_grad()) gradients = grad(y, leaves, {}, {.allow_unused = true});
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    SCOPED_TRACE("derivative of order " + std::to_string(order + 1) + ", input " + std::to_string(i));
    const std::vector<double> at = values(inputs[i].detach());
    std::vector<double> differences;
    for (std::size_t k = 0; k < at.size(); ++k) {
      const auto value_at = [&](double x) {
        std::vector<double> moved = at;
        moved[k] = x;
        std::vector<Tensor> points = inputs;
        points[i] = float64_tensor(moved, inputs[i].shape());
        return of_order(order, f, leaves_of(points)).item();
      };
      differences.push_back((value_at(at[k] + step) - value_at(at[k] - step)) / (2 * step));
    }
    if (gradients[i].defined()) {
      expect_near(gradients[i], differences, tolerance);
    } else {
      for (const double difference : differences) EXPECT_NEAR(difference, 0, tolerance);
    }
  }
}

}  // namespace asyncgrad::tests
