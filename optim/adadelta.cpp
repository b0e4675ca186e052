#include "asyncgrad/optim/adadelta.h"

#include <utility>

#include "asyncgrad/core/backend/attributes/update.h"
#include "asyncgrad/core/checks.h"

namespace asyncgrad::optim {

Adadelta::Adadelta(std::vector<Tensor> parameters, AdadeltaOptions options, Location where) : Optimizer("Adadelta") {
  add_group(std::move(parameters), options, where);
}

void Adadelta::add_group(std::vector<Tensor> parameters, AdadeltaOptions options, Location where) {
  const CallSite site(where);
  check_below_one(name(), "rho", options.rho);
  check_not_negative(name(), "epsilon", options.epsilon);
  check_not_negative(name(), "weight_decay", options.weight_decay);
  add(std::move(parameters),
      detail::update_by<rules::Adadelta>(
          {.lr = options.lr, .rho = options.rho, .epsilon = options.epsilon, .weight_decay = options.weight_decay}),
      where);
}

}  // namespace asyncgrad::optim
