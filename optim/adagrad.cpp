#include "asyncgrad/optim/adagrad.h"

#include <utility>

#include "asyncgrad/core/backend/attributes/update.h"
#include "asyncgrad/core/checks.h"

namespace asyncgrad::optim {

Adagrad::Adagrad(std::vector<Tensor> parameters, AdagradOptions options, Location where) : Optimizer("Adagrad") {
  add_group(std::move(parameters), options, where);
}

void Adagrad::add_group(std::vector<Tensor> parameters, AdagradOptions options, Location where) {
  const CallSite site(where);
  check_not_negative(name(), "epsilon", options.epsilon);
  check_not_negative(name(), "weight_decay", options.weight_decay);
  check_not_negative(name(), "initial_accumulator", options.initial_accumulator);
  const rules::Adagrad::Options o{.lr = options.lr, .epsilon = options.epsilon, .weight_decay = options.weight_decay};
  add(std::move(parameters), detail::update_by<rules::Adagrad>(o), where, options.initial_accumulator);
}

}  // namespace asyncgrad::optim
