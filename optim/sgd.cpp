#include "asyncgrad/optim/sgd.h"

#include <utility>

#include "asyncgrad/core/error.h"
#include "asyncgrad/optim/groups.h"

namespace asyncgrad::optim {

namespace {

constexpr const char* name = "SGD";

void check(const SGDOptions& options) {
  check_not_negative(name, "lr", options.lr);
  check_not_negative(name, "weight_decay", options.weight_decay);
  check_not_negative(name, "momentum", options.momentum);
  if (options.nesterov && options.momentum == 0) throw_error(name, "nesterov needs momentum, got momentum 0");
}

}  // namespace

SGD::SGD(std::vector<Tensor> parameters, SGDOptions options, Location where)
    : parameters_(std::move(parameters)), options_(options) {
  check(options_);
  check_parameters(name, parameters_);
  if (options_.momentum != 0) velocities_ = zeros_like(parameters_, where);
}

void SGD::set_lr(double lr) {
  check_not_negative(name, "lr", lr);
  options_.lr = lr;
}

void SGD::zero_grad() {
  for (Tensor& parameter : parameters_) parameter.zero_grad();
}

void SGD::step(Location where) {
  for (Group& group : groups_with_gradients(name, parameters_)) {
    group.add_updates(parameters_);
    if (options_.momentum != 0) group.add_updates(velocities_);
    group.add_gradients();
    detail::submit(detail::Op::sgd, group.operands,
                   detail::SgdAttributes{.lr = options_.lr,
                                         .momentum = options_.momentum,
                                         .weight_decay = options_.weight_decay,
                                         .nesterov = options_.nesterov,
                                         .count = group.size()},
                   where);
  }
}

}  // namespace asyncgrad::optim
