#include "asyncgrad/optim/average.h"

#include <fmt/format.h>

#include <utility>

#include "asyncgrad/autograd/copy.h"
#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/grad_mode.h"
#include "asyncgrad/autograd/tape/update.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/wait_hooks.h"

namespace asyncgrad::optim {

WeightAverage::WeightAverage(std::vector<Tensor> parameters, WeightAverageOptions options, Location where)
    : parameters_(std::move(parameters)), options_(options) {
  const CallSite site(where);
  if (parameters_.empty()) throw_error("WeightAverage", "needs at least one parameter, got none");
  if (options.decay) check_below_one("WeightAverage", "decay", *options.decay);
  detail::check_distinct("WeightAverage", parameters_);
  for (const Tensor& parameter : parameters_) {
    if (parameter.dtype() == float32 || parameter.dtype() == float64) continue;
    throw_error("WeightAverage", fmt::format("averages float32 and float64, got {} {}", name(parameter.dtype()),
                                             parameter.shape().str()));
  }
  for (const Tensor& parameter : parameters_) averages_.push_back(parameter.detach().clone(where));
}

void WeightAverage::update(Location where) {
  const CallSite site(where);
  check_not_swapped("update()");
  const detail::Uninterrupted uninterrupted;  // of a wait for room some averages would have this update, and others not
  const double share = options_.decay ? 1 - *options_.decay : 1 / static_cast<double>(updates_ + 1);
  const NoGrad no_grad;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (share == 1) {
      averages_[i].copy_(Arg(parameters_[i], where));  // exactly, whatever it was
      continue;
    }
    const Tensor difference = Arg(parameters_[i], where) - Arg(averages_[i], where);
    const Tensor step = Arg(difference, where) * Scalar(share, where);
    averages_[i] += Arg(step, where);
  }
  ++updates_;
}

void WeightAverage::swap(Location where) {
  const CallSite site(where);
  const NoGrad no_grad;
  // All that may fail comes first: half an exchange would lose weights.
  std::vector<Tensor> values;
  for (const Tensor& average : averages_) average.wait(where);
  for (const Tensor& parameter : parameters_) values.push_back(parameter.detach().clone(where));
  for (const Tensor& value : values) value.wait(where);
  const detail::Uninterrupted uninterrupted;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i].detach().copy_(Arg(averages_[i], where));
    averages_[i].copy_(Arg(values[i], where));
  }
  is_swapped_ = !is_swapped_;
}

void WeightAverage::check_not_swapped(const char* what_for) const {
  if (!is_swapped_) return;
  throw_error(
      "WeightAverage",
      fmt::format("the parameters are the averages since swap(); another swap() puts them back for {}", what_for));
}

// In a file, parameters and averages would have changed places, and nothing would say so.
void WeightAverage::members(nn::Members& m) {
  check_not_swapped("a Checkpoint");
  m("averages", averages_);
  m.not_negative("updates", updates_);
}

}  // namespace asyncgrad::optim
