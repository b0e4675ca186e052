// Applies elementwise formulas and records them. Internal.
#pragma once

#include <span>

#include "asyncgrad/autograd/operands.h"

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

// formula(inputs…), in the shape to which the one to three inputs broadcast. At least one of them is a tensor.
Tensor apply(int formula, std::span<const Input> inputs, const Location& where);

// target = formula(target, other), in place. `operation` names it in errors.
void apply_in_place(const char* operation, int formula, const Tensor& target, const Input& other, Location where);

}  // namespace asyncgrad::detail
