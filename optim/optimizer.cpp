#include "asyncgrad/optim/optimizer.h"

#include <fmt/format.h>

#include <utility>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/leaves.h"
#include "asyncgrad/autograd/tape/update.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::optim {

// The rates are checked here once more, as they may come from a file.
void Optimizer::step(Location where) {
  const CallSite site(where);
  for (const Group& group : groups_) check_not_negative(name_, "lr", group.lr);
  for (std::size_t i = 0; i < groups_.size(); ++i) update(i, groups_[i], where);
}

void Optimizer::zero_grad() {
  for (Group& group : groups_) {
    for (Tensor& parameter : group.parameters) parameter.zero_grad();
  }
}

void Optimizer::set_lr(double lr, Location where) {
  const CallSite site(where);
  check_not_negative(name_, "lr", lr);
  for (Group& group : groups_) group.lr = lr;
}

void Optimizer::set_lr(std::size_t group, double lr, Location where) {
  const CallSite site(where);
  checked(group);
  check_not_negative(name_, "lr", lr);
  groups_[group].lr = lr;
}

std::vector<Tensor> Optimizer::all_parameters() const {
  std::vector<Tensor> all;
  for (const Group& group : groups_) all.insert(all.end(), group.parameters.begin(), group.parameters.end());
  return all;
}

std::vector<std::string> Optimizer::missing(const Tensor& loss) const { return missing_leaves(loss, all_parameters()); }

void Optimizer::members(nn::Members& m) {
  for (std::size_t i = 0; i < groups_.size(); ++i) m(std::to_string(i), groups_[i]);
}

void Optimizer::Group::members(nn::Members& m) {
  m("lr", lr);
  for (State& state : states) m(state.name, state.tensors);
}

Optimizer::Group Optimizer::made(std::vector<Tensor> parameters, double lr) const {
  check_not_negative(name_, "lr", lr);
  detail::check_parameters(name_, parameters);
  std::vector<Tensor> all = all_parameters();
  all.insert(all.end(), parameters.begin(), parameters.end());
  detail::check_parameters(name_, all);
  return {.parameters = std::move(parameters), .lr = lr, .states = {}};
}

void Optimizer::add_state(Group& group, std::string name, double value, Location where) {
  State& state = group.states.emplace_back(State{.name = std::move(name), .tensors = {}});
  for (const Tensor& parameter : group.parameters) {
    const TensorOptions options{.dtype = parameter.dtype(), .device = parameter.device()};
    state.tensors.push_back(full(parameter.shape(), value, options, where));
  }
}

const Optimizer::Group& Optimizer::checked(std::size_t group) const {
  if (group >= groups_.size()) throw_error(name_, fmt::format("there is no group {} of {}", group, groups_.size()));
  return groups_[group];
}

}  // namespace asyncgrad::optim
