// The gradients of elementwise formulas when an operation is recorded. Internal.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "asyncgrad/autograd/elementwise/apply.h"
#include "asyncgrad/autograd/elementwise/derivatives.h"
#include "asyncgrad/autograd/forms/broadcast.h"
#include "asyncgrad/autograd/tape/crossed_loss.h"
#include "asyncgrad/autograd/tape/operation_node.h"

namespace asyncgrad::detail {

inline constexpr std::size_t max_inputs = 3;  // of a formula

// The backward function of a formula, by the table of derivatives.
class FormulaBackward {
 public:
  // `inputs` as they were before the operation, `result` after it.
  FormulaBackward(int formula, std::span<const Input> inputs, const Tensor& result, unsigned needed)
      : formula_(formula), count_(inputs.size()), result_(save(result, needs(needed, From::result))) {
    for (std::size_t i = 0; i < count_; ++i) {
      is_number_[i] = inputs[i].tensor == nullptr;
      numbers_[i] = inputs[i].number;
      if (!is_number_[i]) saved_[i] = save(*inputs[i].tensor, needs(needed, static_cast<From>(i)));
    }
  }

  // The arguments of the wanted gradients, as a mask of bits (1 << From).
  static unsigned needed(int formula, std::span<const Input> inputs) {
    unsigned mask = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].tensor == nullptr || !has_history(*inputs[i].tensor)) continue;
      const GradientFormula& gradient = row(formula)[i];
      for (int from = 0; from < gradient.count; ++from) {
        mask |= 1U << static_cast<unsigned>(gradient.from[static_cast<std::size_t>(from)]);
      }
    }
    return mask;
  }
  static bool needs(unsigned mask, From from) { return (mask >> static_cast<unsigned>(from) & 1U) != 0; }

  void operator()(const Tensor& dy, Gradients& gradients) const {
    for (std::size_t i = 0; i < count_; ++i) {
      const GradientFormula& gradient = row(formula_)[i];
      if (gradient.formula == GradientFormula::none) continue;
      const int input = static_cast<int>(i);
      const Tensor* const dying = is_last(i, gradients) ? &dy : nullptr;
      gradients(input, [&] { return sum_to(compute(gradient, dy, dying, gradients), gradients.shape(input)); });
    }
  }

 private:
  static const Derivative& row(int formula) { return derivatives[static_cast<std::size_t>(formula)]; }

  // True if no other gradient is computed from dy after that of input i.
  bool is_last(std::size_t i, const Gradients& gradients) const {
    while (++i < count_) {
      if (row(formula_)[i].formula != GradientFormula::none && gradients.wants(static_cast<int>(i))) return false;
    }
    return true;
  }

  Tensor compute(const GradientFormula& gradient, const Tensor& dy, const Tensor* dying,
                 const Gradients& gradients) const {
    if (gradient.formula == GradientFormula::same) return dy;
    std::array<Input, max_inputs> inputs;
    const auto count = static_cast<std::size_t>(gradient.count);
    for (std::size_t i = 0; i < count; ++i) inputs[i] = argument(gradient.from[i], dy, gradients);
    return apply_gradient(gradient.formula, std::span(inputs.data(), count), gradients.are_recorded(), dying);
  }

  Input argument(From from, const Tensor& dy, const Gradients& gradients) const {
    if (from == From::dy) return dy;
    if (from == From::result) return gradients.read_result(result_);
    const auto i = static_cast<std::size_t>(from);
    return is_number_[i] ? Input(numbers_[i]) : Input(gradients.read_input(saved_[i], static_cast<int>(i)));
  }

  int formula_;
  std::size_t count_;
  std::array<bool, max_inputs> is_number_{};
  std::array<Number, max_inputs> numbers_{};
  std::array<SavedTensor, max_inputs> saved_;
  SavedTensor result_;
};

// The same for a difference whose operands' shapes a warning may show.
class CrossedBackward : public FormulaBackward {
 public:
  CrossedBackward(const FormulaBackward& backward, const CrossedShapes& shapes)
      : FormulaBackward(backward), shapes_(shapes) {}
  const CrossedShapes* crossed() const { return &shapes_; }

 private:
  CrossedShapes shapes_;
};

}  // namespace asyncgrad::detail
