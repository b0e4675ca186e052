#include "asyncgrad/optim/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/leaves.h"
#include "asyncgrad/autograd/tape/update.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/warn.h"

namespace asyncgrad::optim {

Optimizer::Optimizer(const char* name) : name_(name), backwards_(detail::backward_count()) {}
Optimizer::~Optimizer() = default;

// The rates are checked here once more, as they may come from a file.
void Optimizer::step(Location where) {
  const CallSite site(where);
  for (const Group& group : groups_) check_not_negative(name_, "lr", group.lr);
  check_reached();
  for (std::size_t i = 0; i < groups_.size(); ++i) update(i, groups_[i], where);
}

bool Optimizer::note_reached() {
  const auto has_one = [](const Group& group) { return std::ranges::any_of(group.parameters, detail::has_gradient); };
  if (std::ranges::none_of(groups_, has_one)) return false;
  is_reached_ = true;
  steps_without_gradient_ = 0;
  backwards_ = detail::backward_count();
  return true;
}

void Optimizer::check_reached() {
  if (note_reached() || detail::backward_count() == backwards_) return;
  backwards_ = detail::backward_count();
  // A loss may leave out some of several optimisers for a while.
  constexpr int patience = 10;
  if (++steps_without_gradient_ != (is_reached_ ? patience : 1)) return;
  const std::vector<Tensor> parameters = all_parameters();
  if (parameters.empty()) return;
  detail::warn(
      name_,
      fmt::format("none of its {} parameters, the first one {}, has had a gradient{}, though backward() has run: "
                  "the loss is computed from other tensors. Take the parameters after the network is cloned, "
                  "moved or made anew; missing(loss) lists what the optimiser does not train",
                  parameters.size(), parameters[0].shape().str(),
                  is_reached_ ? fmt::format(" in the last {} steps", patience) : ""));
}

void Optimizer::zero_grad() {
  note_reached();
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
  m.not_negative("lr", lr);
  for (State& state : states) m(state.name, state.tensors);
}

Optimizer::Group Optimizer::made(std::vector<Tensor> parameters, double lr, Location where) const {
  const CallSite site(where);
  check_not_negative(name_, "lr", lr);
  detail::check_parameters(name_, parameters);
  std::vector<Tensor> all = all_parameters();
  all.insert(all.end(), parameters.begin(), parameters.end());
  detail::check_parameters(name_, all);
  return {.parameters = std::move(parameters), .lr = lr};
}

void Optimizer::add_state(Group& group, std::string name, double value, Location where) {
  group.states.push_back({.name = std::move(name), .tensors = detail::make_state(group.parameters, value, where)});
}

void Optimizer::add(Group group) { groups_.push_back(std::move(group)); }

void Optimizer::add(std::vector<Tensor> parameters, const detail::UpdateAttributes& rule, Location where,
                    double initial) {
  Group group = made(std::move(parameters), rule.options[0], where);
  group.rule = std::make_shared<const detail::UpdateAttributes>(rule);
  const detail::UpdateRule& row = detail::rule_of(rule);
  for (const char* state : row.states) add_state(group, state, initial, where);
  if (row.counts_steps) {
    std::vector<Tensor>& counts = group.states.emplace_back(State{.name = "steps", .tensors = {}}).tensors;
    for (const Tensor& p : group.parameters) {
      const std::int64_t size = detail::update_counts(p.shape().numel());
      counts.push_back(zeros({size}, {.dtype = int64, .device = p.device()}, where));
    }
  }
  add(std::move(group));
}

void Optimizer::update(std::size_t /*number*/, const Group& group, Location where) {
  if (group.rule == nullptr) throw_error(name_, "a group without a rule needs an update() of the optimiser's own");
  std::vector<detail::State> states;
  states.reserve(group.states.size());
  for (const State& state : group.states) states.push_back(&state.tensors);
  detail::UpdateAttributes rule = *group.rule;
  rule.options[0] = group.lr;
  detail::submit_update(group.parameters, states, rule, where);
}

const Optimizer::Group& Optimizer::checked(std::size_t group) const {
  if (group >= groups_.size())
    throw_error(name_, fmt::format("there is no group {} of {}, numbered from 0", group, groups_.size()));
  return groups_[group];
}

}  // namespace asyncgrad::optim
