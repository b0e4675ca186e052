#include "asyncgrad/optim/adam.h"

#include <utility>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/optim/update.h"

namespace asyncgrad::optim {

void AdamBase::add(std::vector<Tensor> parameters, double lr, const Options& options, Location where) {
  const CallSite site(where);
  check_part(name(), "beta1", options.beta1);
  check_part(name(), "beta2", options.beta2);
  check_not_negative(name(), "epsilon", options.epsilon);
  check_not_negative(name(), "weight_decay", options.weight_decay);
  Group group = made(std::move(parameters), lr);
  add_state(group, "first_moments", 0, where);
  add_state(group, "second_moments", 0, where);
  State& steps = group.states.emplace_back(State{.name = "steps", .tensors = {}});
  for (const Tensor& parameter : group.parameters) {
    const std::int64_t counts = detail::adam_counts(parameter.shape().numel());
    steps.tensors.push_back(zeros({counts}, {.dtype = int64, .device = parameter.device()}, where));
  }
  Optimizer::add(std::move(group));
  options_.push_back(options);
}

void AdamBase::update(std::size_t number, const Group& group, Location where) {
  const Options& options = options_[number];
  submit_update(detail::Op::adam, group,
                detail::AdamAttributes{.lr = group.lr,
                                       .beta1 = options.beta1,
                                       .beta2 = options.beta2,
                                       .epsilon = options.epsilon,
                                       .weight_decay = options.weight_decay,
                                       .decoupled_weight_decay = options.decoupled_weight_decay,
                                       .count = 0},
                where);
}

Adam::Adam(std::vector<Tensor> parameters, AdamOptions options, Location where) : AdamBase("Adam") {
  add_group(std::move(parameters), options, where);
}

void Adam::add_group(std::vector<Tensor> parameters, AdamOptions options, Location where) {
  add(std::move(parameters), options.lr, {options.beta1, options.beta2, options.epsilon, options.weight_decay, false},
      where);
}

AdamW::AdamW(std::vector<Tensor> parameters, AdamWOptions options, Location where) : AdamBase("AdamW") {
  add_group(std::move(parameters), options, where);
}

void AdamW::add_group(std::vector<Tensor> parameters, AdamWOptions options, Location where) {
  add(std::move(parameters), options.lr, {options.beta1, options.beta2, options.epsilon, options.weight_decay, true},
      where);
}

}  // namespace asyncgrad::optim
