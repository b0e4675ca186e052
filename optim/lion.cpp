#include "asyncgrad/optim/lion.h"

#include <utility>

#include "asyncgrad/core/backend/attributes/update.h"
#include "asyncgrad/core/checks.h"

namespace asyncgrad::optim {

Lion::Lion(std::vector<Tensor> parameters, LionOptions options, Location where) : Optimizer("Lion") {
  add_group(std::move(parameters), options, where);
}

void Lion::add_group(std::vector<Tensor> parameters, LionOptions options, Location where) {
  const CallSite site(where);
  check_below_one(name(), "beta1", options.beta1);
  check_below_one(name(), "beta2", options.beta2);
  check_not_negative(name(), "weight_decay", options.weight_decay);
  add(std::move(parameters),
      detail::update_by<rules::Lion>(
          {.lr = options.lr, .beta1 = options.beta1, .beta2 = options.beta2, .weight_decay = options.weight_decay}),
      where);
}

}  // namespace asyncgrad::optim
