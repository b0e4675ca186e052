// Applies elementwise formulas and records them. Internal.
#pragma once

#include <span>

#include "asyncgrad/autograd/tape/operands.h"

namespace asyncgrad::detail {

// An input of a formula: a tensor, or a number if `tensor` is null.
struct Input {
  Input() = default;
  Input(const Tensor& tensor) : tensor(&tensor) {}  // NOLINT(google-explicit-constructor)
  Input(const Arg& arg) : tensor(&arg.tensor()) {}  // NOLINT(google-explicit-constructor)
  Input(Number number) : number(number) {}          // NOLINT(google-explicit-constructor)
  const Tensor* tensor = nullptr;
  Number number{};
};

// formula(inputs…), in the shape to which the one to three inputs broadcast. At least one of them is a tensor. Tensors
// of bool take the type of the others.
Tensor apply(int formula, std::span<const Input> inputs, const Location& where);

// Does the same for a predicate, whose result is bool.
Tensor apply_predicate(int formula, std::span<const Input> inputs, const Location& where);

// Does as apply() does for the formula of a gradient. If the result `is_recorded` and the formula has no gradient of
// its own, it is computed by operations that have one, see apply_stepwise(). Otherwise the result may be written over
// `dying`: one of the inputs whose values are not needed afterwards, or null.
Tensor apply_gradient(int formula, std::span<const Input> inputs, bool is_recorded, const Tensor* dying = nullptr);

// formula(inputs…) computed by one operation for each step of it, all of which are recorded. The last input is a tensor
// of the result's shape. Defined in apply_stepwise.cpp.
Tensor apply_stepwise(int formula, std::span<const Input> inputs);

// target = formula(target, other), in place. `operation` names it in errors.
void apply_in_place(const char* operation, int formula, const Tensor& target, const Input& other, Location where);

}  // namespace asyncgrad::detail
