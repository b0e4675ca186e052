#include "asyncgrad/optim/sgd.h"

#include <utility>

#include "asyncgrad/autograd/update.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/optim/state.h"

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
  detail::check_parameters(name, parameters_);
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
  detail::submit_update(name, detail::Op::sgd, parameters_, {&velocities_},
                        detail::SgdAttributes{.lr = options_.lr,
                                              .momentum = options_.momentum,
                                              .weight_decay = options_.weight_decay,
                                              .nesterov = options_.nesterov,
                                              .count = 0},
                        where);
}

}  // namespace asyncgrad::optim
