// How operations are recorded. Internal.
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>

#include "asyncgrad/autograd/grad_mode.h"
#include "asyncgrad/autograd/tape/backward_function.h"

namespace asyncgrad::detail {

template <class Function>
inline constexpr bool is_differentiable_function = false;
template <class Function>
inline constexpr bool is_differentiable_function<Differentiable<Function>> = true;

// An operation of the table that autograd records, in the name of its row or in another one.
struct Recorded {
  // Does not compile unless the row says that the operation has a gradient.
  consteval Recorded(Op recorded) : op(recorded), name(row_of(recorded).name) {  // NOLINT(google-explicit-constructor)
    if (row_of(recorded).gradient != GradientBy::autograd) throw "the row says that autograd has no gradient of it";
  }
  constexpr Recorded as(const char* shown) const {
    Recorded renamed = *this;
    renamed.name = shown;
    return renamed;
  }

  Op op;
  const char* name;
};

template <class Function>
class OperationNode final : public Node {
 public:
  // `op` is Op::count for several operations that have a gradient together.
  OperationNode(Op op, const char* name, Location where, const Tensor& result, std::span<const Tensor> inputs,
                Function function)
      : Node(name, where, result), function_(std::move(function)) {
    set_inputs(op, inputs);
  }
  bool is_leaf() const override { return false; }
  bool is_intact() const override { return function_.has_value(); }
  bool is_differentiable() const override { return is_differentiable_function<Function>; }
  const CrossedShapes* crossed() const override {
    if constexpr (requires(const Function& f) { f.crossed(); }) {
      return is_intact() ? function_->crossed() : nullptr;
    } else {
      return nullptr;
    }
  }
  void backward(Tensor dy, Gradients& gradients) override { (*function_)(std::move(dy), gradients); }
  void let_go() override {
    function_.reset();
    release_inputs();
  }
  const Function& function() const { return *function_; }  // while it is intact

 private:
  std::optional<Function> function_;
};

// True if an operation on these inputs is to be recorded.
bool records(const std::convertible_to<const Tensor&> auto&... inputs) {
  return (has_history(inputs) || ...) && grad_enabled();
}

// Records that the operation computed `result` from `inputs`, whose gradients `backward(dy, gradients)` computes. The
// result may be one of the inputs, which was then written in place.
template <class Function>
void record(Recorded operation, Location where, const Tensor& result, std::span<const Tensor> inputs,
            Differentiable<Function> backward) {
  using Operation = OperationNode<Differentiable<Function>>;
  replace_node(result, new Operation(operation.op, operation.name, where, result, inputs, std::move(backward)));
}
template <class Function>
void record(Recorded operation, Location where, const Tensor& result, std::initializer_list<Tensor> inputs,
            Differentiable<Function> backward) {
  record(operation, where, result, std::span(inputs.begin(), inputs.size()), std::move(backward));
}

// The same for a view, for several operations that have a gradient together, and for what the program computes.
template <class Function>
void record(const char* name, Location where, const Tensor& result, std::span<const Tensor> inputs, Function backward) {
  replace_node(result, new OperationNode<Function>(Op::count, name, where, result, inputs, std::move(backward)));
}
template <class Function>
void record(const char* name, Location where, const Tensor& result, std::initializer_list<Tensor> inputs,
            Function backward) {
  record(name, where, result, std::span(inputs.begin(), inputs.size()), std::move(backward));
}

}  // namespace asyncgrad::detail
