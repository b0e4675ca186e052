#include "asyncgrad/optim/adagrad.h"

#include <utility>

#include "asyncgrad/core/checks.h"
#include "asyncgrad/optim/update.h"

namespace asyncgrad::optim {

Adagrad::Adagrad(std::vector<Tensor> parameters, AdagradOptions options, Location where) : Optimizer("Adagrad") {
  add_group(std::move(parameters), options, where);
}

void Adagrad::add_group(std::vector<Tensor> parameters, AdagradOptions options, Location where) {
  const CallSite site(where);
  check_not_negative(name(), "epsilon", options.epsilon);
  check_not_negative(name(), "weight_decay", options.weight_decay);
  check_not_negative(name(), "initial_accumulator", options.initial_accumulator);
  Group group = made(std::move(parameters), options.lr);
  add_state(group, "sums", options.initial_accumulator, where);
  add(std::move(group));
  options_.push_back(options);
}

void Adagrad::update(std::size_t number, const Group& group, Location where) {
  const AdagradOptions& options = options_[number];
  submit_update(detail::Op::adagrad, group,
                detail::AdagradAttributes{
                    .lr = group.lr, .epsilon = options.epsilon, .weight_decay = options.weight_decay, .count = 0},
                where);
}

}  // namespace asyncgrad::optim
