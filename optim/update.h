// How an optimiser queues the update of a group. Internal.
#pragma once

#include <vector>

#include "asyncgrad/autograd/tape/update.h"

namespace asyncgrad::optim {

// `Group` is that of an Optimizer, which only its kind can name.
template <class Group, class Attributes>
void submit_update(detail::Op op, const Group& group, const Attributes& attributes, const Location& where) {
  std::vector<detail::State> states;
  states.reserve(group.states.size());
  for (const auto& state : group.states) states.push_back(&state.tensors);
  detail::submit_update(op, group.parameters, states, attributes, where);
}

}  // namespace asyncgrad::optim
