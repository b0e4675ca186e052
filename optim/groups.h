// What the optimisers share: checks of what they are given, and the operands of a step. Internal.
#pragma once

#include <cstddef>
#include <vector>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/location.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad::optim {

// Throws Error in the name of `optimiser`, as do all functions here, unless `value` is finite and not negative.
void check_not_negative(const char* optimiser, const char* what, double value);
// Throws Error if there are no parameters, if one requires no gradient or is an operation's result, or if two share
// their storage.
void check_parameters(const char* optimiser, const std::vector<Tensor>& parameters);

// The parameters of one element type on one device that have a gradient: one operation updates them all.
struct Group {
  DType dtype;
  Device device;
  std::vector<std::size_t> members;            // places in the list of all parameters
  std::vector<Tensor> gradients;               // the members'
  std::vector<detail::OperandRef> operands{};  // of the gradients and of the tensors that were added

  int size() const { return static_cast<int>(members.size()); }
  // Each adds an operand for every member. `tensors` has a place for every parameter; all of them live until the
  // operation is submitted.
  void add_updates(const std::vector<Tensor>& tensors);
  void add_gradients();
};
// Throws Error if no parameter has a gradient.
std::vector<Group> groups_with_gradients(const char* optimiser, const std::vector<Tensor>& parameters);

// For each parameter zeros of its shape and type, where it is.
std::vector<Tensor> zeros_like(const std::vector<Tensor>& parameters, Location where);

}  // namespace asyncgrad::optim
