// What an optimiser needs to update its parameters: which it may take, and one operation that updates many. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/location.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad::detail {

// Throws Error in the name of `optimiser` if there are no parameters, if one requires no gradient or is an operation's
// result, or if two share their storage.
void check_parameters(const char* optimiser, const std::vector<Tensor>& parameters);

// One tensor for each parameter, in the same order, or none at all.
using State = const std::vector<Tensor>*;

// The parameters of one element type on one device that have a gradient.
struct UpdateGroup {
  DType dtype;
  Device device;
  std::vector<std::size_t> members;    // indices into the list of all parameters
  std::vector<Tensor> gradients;       // of the members
  std::vector<OperandRef> operands{};  // parameters, then each list of state, then gradients
};
// Throws Error in the name of `optimiser` if no parameter has a gradient. The operands refer to the tensors that are
// passed, and to the group's gradients.
std::vector<UpdateGroup> update_groups(const char* optimiser, const std::vector<Tensor>& parameters,
                                       std::span<const State> states);

// Queues the update `op` of every parameter that has a gradient, as one operation for each element type and device.
// Sets attributes.count, the number of parameters. Throws as update_groups does, and as submit does.
template <class Attributes>
void submit_update(const char* optimiser, Op op, const std::vector<Tensor>& parameters,
                   std::initializer_list<State> states, Attributes attributes, const Location& where) {
  for (const UpdateGroup& group : update_groups(optimiser, parameters, {states.begin(), states.size()})) {
    attributes.count = static_cast<std::int32_t>(group.members.size());
    submit(op, group.operands, attributes, where);
  }
}

}  // namespace asyncgrad::detail
