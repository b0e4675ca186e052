#include "asyncgrad/optim/rmsprop.h"

#include <utility>

#include "asyncgrad/core/backend/attributes/update.h"
#include "asyncgrad/core/checks.h"

namespace asyncgrad::optim {

RMSprop::RMSprop(std::vector<Tensor> parameters, RMSpropOptions options, Location where) : Optimizer("RMSprop") {
  add_group(std::move(parameters), options, where);
}

void RMSprop::add_group(std::vector<Tensor> parameters, RMSpropOptions options, Location where) {
  const CallSite site(where);
  check_below_one(name(), "alpha", options.alpha);
  check_not_negative(name(), "epsilon", options.epsilon);
  check_not_negative(name(), "weight_decay", options.weight_decay);
  check_not_negative(name(), "momentum", options.momentum);
  const rules::RmspropRule::Options o{.lr = options.lr,
                                      .alpha = options.alpha,
                                      .epsilon = options.epsilon,
                                      .weight_decay = options.weight_decay,
                                      .momentum = options.momentum};
  if (options.momentum == 0) {
    add(std::move(parameters),
        options.centered ? detail::update_by<rules::RmspropCentered>(o) : detail::update_by<rules::Rmsprop>(o), where);
  } else {
    add(std::move(parameters),
        options.centered ? detail::update_by<rules::RmspropCenteredMomentum>(o)
                         : detail::update_by<rules::RmspropMomentum>(o),
        where);
  }
}

}  // namespace asyncgrad::optim
