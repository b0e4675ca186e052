#include "asyncgrad/optim/adam.h"

#include <utility>

#include "asyncgrad/core/backend/attributes/update.h"
#include "asyncgrad/core/checks.h"

namespace asyncgrad::optim {

namespace {

detail::UpdateAttributes rule_by(const char* name, const auto& options, double weight_decay, double decay_apart) {
  check_below_one(name, "beta1", options.beta1);
  check_below_one(name, "beta2", options.beta2);
  check_not_negative(name, "epsilon", options.epsilon);
  check_not_negative(name, "weight_decay", options.weight_decay);
  return detail::update_by<rules::Adam>({.lr = options.lr,
                                         .beta1 = options.beta1,
                                         .beta2 = options.beta2,
                                         .epsilon = options.epsilon,
                                         .weight_decay = weight_decay,
                                         .decay_apart = decay_apart});
}

}  // namespace

Adam::Adam(std::vector<Tensor> parameters, AdamOptions options, Location where) : Optimizer("Adam") {
  add_group(std::move(parameters), options, where);
}

void Adam::add_group(std::vector<Tensor> parameters, AdamOptions options, Location where) {
  const CallSite site(where);
  add(std::move(parameters), rule_by(name(), options, options.weight_decay, 0), where);
}

AdamW::AdamW(std::vector<Tensor> parameters, AdamWOptions options, Location where) : Optimizer("AdamW") {
  add_group(std::move(parameters), options, where);
}

void AdamW::add_group(std::vector<Tensor> parameters, AdamWOptions options, Location where) {
  const CallSite site(where);
  add(std::move(parameters), rule_by(name(), options, 0, options.weight_decay), where);
}

}  // namespace asyncgrad::optim
