#include "asyncgrad/optim/rmsprop.h"

#include <utility>

#include "asyncgrad/core/checks.h"
#include "asyncgrad/optim/update.h"

namespace asyncgrad::optim {

RMSprop::RMSprop(std::vector<Tensor> parameters, RMSpropOptions options, Location where) : Optimizer("RMSprop") {
  add_group(std::move(parameters), options, where);
}

void RMSprop::add_group(std::vector<Tensor> parameters, RMSpropOptions options, Location where) {
  const CallSite site(where);
  check_part(name(), "alpha", options.alpha);
  check_not_negative(name(), "epsilon", options.epsilon);
  check_not_negative(name(), "weight_decay", options.weight_decay);
  check_not_negative(name(), "momentum", options.momentum);
  Group group = made(std::move(parameters), options.lr);
  add_state(group, "mean_squares", 0, where);
  if (options.centered) add_state(group, "means", 0, where);
  if (options.momentum != 0) add_state(group, "velocities", 0, where);
  add(std::move(group));
  options_.push_back(options);
}

void RMSprop::update(std::size_t number, const Group& group, Location where) {
  const RMSpropOptions& options = options_[number];
  submit_update(detail::Op::rmsprop, group,
                detail::RmspropAttributes{.lr = group.lr,
                                          .alpha = options.alpha,
                                          .epsilon = options.epsilon,
                                          .weight_decay = options.weight_decay,
                                          .momentum = options.momentum,
                                          .centered = options.centered,
                                          .count = 0},
                where);
}

}  // namespace asyncgrad::optim
