#include "asyncgrad/optim/adam.h"

#include <fmt/format.h>

#include <utility>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/update.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/optim/state.h"

namespace asyncgrad::optim {

namespace {

constexpr const char* name = "Adam";

void check_beta(const char* what, double value) {
  check_not_negative(name, what, value);
  if (value >= 1) throw_error(name, fmt::format("{} must be less than 1, got {}", what, value));
}

void check(const AdamOptions& options) {
  check_not_negative(name, "lr", options.lr);
  check_beta("beta1", options.beta1);
  check_beta("beta2", options.beta2);
  check_not_negative(name, "epsilon", options.epsilon);
  check_not_negative(name, "weight_decay", options.weight_decay);
}

}  // namespace

Adam::Adam(std::vector<Tensor> parameters, AdamOptions options, Location where)
    : parameters_(std::move(parameters)), options_(options) {
  check(options_);
  detail::check_parameters(name, parameters_);
  first_moments_ = zeros_like(parameters_, where);
  second_moments_ = zeros_like(parameters_, where);
  for (const Tensor& parameter : parameters_) {
    const std::int64_t counts = detail::adam_counts(parameter.shape().numel());
    steps_.push_back(zeros({counts}, {.dtype = int64, .device = parameter.device()}, where));
  }
}

void Adam::set_lr(double lr) {
  check_not_negative(name, "lr", lr);
  options_.lr = lr;
}

void Adam::zero_grad() {
  for (Tensor& parameter : parameters_) parameter.zero_grad();
}

void Adam::step(Location where) {
  detail::submit_update(name, detail::Op::adam, parameters_, {&first_moments_, &second_moments_, &steps_},
                        detail::AdamAttributes{.lr = options_.lr,
                                               .beta1 = options_.beta1,
                                               .beta2 = options_.beta2,
                                               .epsilon = options_.epsilon,
                                               .weight_decay = options_.weight_decay,
                                               .decoupled_weight_decay = options_.decoupled_weight_decay,
                                               .count = 0},
                        where);
}

}  // namespace asyncgrad::optim
