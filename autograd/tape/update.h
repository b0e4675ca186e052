// Functions for optimisers: a check of the parameters, and one operation that updates many of them. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "asyncgrad/core/backend/attributes/update.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/location.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad::detail {

// Throws Error in the name of `optimiser` if there are no parameters, if one requires no gradient, is an operation's
// result or is bfloat16, or if two share their storage.
void check_parameters(const char* optimiser, const std::vector<Tensor>& parameters);
// Throws Error in the name of `owner` if two share their storage, or one is Tensor{}.
void check_distinct(const char* owner, const std::vector<Tensor>& parameters);

// A tensor with this value for each parameter, of its shape and type, for an optimiser's state. May wait for room.
std::vector<Tensor> make_state(const std::vector<Tensor>& parameters, double value, const Location& where);

// How often backward() has been called in this process, by any thread.
std::uint64_t backward_count();
void note_backward();

// Whether there is a gradient, as a tensor or by rows.
bool has_gradient(const Tensor& parameter);

// Returns a parameter's gradient, or Tensor{} if there is none. Of one that is kept by rows it returns the sums of its
// rows, which have the same norm. The program may write the values in place. May wait for room.
Tensor gradient_values(const Tensor& parameter, const Location& where);

// One tensor for each parameter, in the same order.
using State = const std::vector<Tensor>*;

// The parameters of one element type on one device that have a gradient, which is a tensor.
struct UpdateGroup {
  DType dtype;
  Device device;
  std::vector<std::size_t> members;    // indices into the list of all parameters
  std::vector<Tensor> gradients;       // of the members
  std::vector<OperandRef> operands{};  // parameters, then each list of state, then gradients
};
// Empty if no parameter has such a gradient. The operands refer to the tensors that are passed, and to the group's
// gradients.
std::vector<UpdateGroup> update_groups(const std::vector<Tensor>& parameters, std::span<const State> states);

// Queues the update of every parameter that has a gradient: first, one by one, of those whose gradient is kept by rows;
// then of the others, as one operation for each element type and device. Sets attributes.count, the number of
// parameters. Throws as submit does.
void submit_update(const std::vector<Tensor>& parameters, std::span<const State> states, UpdateAttributes attributes,
                   const Location& where);

}  // namespace asyncgrad::detail
