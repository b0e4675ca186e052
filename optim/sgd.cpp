#include "asyncgrad/optim/sgd.h"

#include <fmt/format.h>

#include <cmath>
#include <unordered_map>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::optim {

namespace {

void check_not_negative(const char* what, double value) {
  if (!std::isfinite(value) || value < 0) {
    throw_error("SGD", fmt::format("{} must be finite and not negative, got {}", what, value));
  }
}

void check(const SGDOptions& options) {
  check_not_negative("lr", options.lr);
  check_not_negative("weight_decay", options.weight_decay);
  check_not_negative("momentum", options.momentum);
  if (options.nesterov && options.momentum == 0) throw_error("SGD", "nesterov needs momentum, got momentum 0");
}

void check(const std::vector<Tensor>& parameters) {
  if (parameters.empty()) throw_error("SGD", "got no parameters");
  std::unordered_map<const detail::Storage*, std::size_t> seen;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const detail::TensorImpl& impl = detail::checked_impl(parameters[i], "SGD");
    if (!parameters[i].requires_grad()) {
      throw_error("SGD", fmt::format("parameter {} of shape {} requires no gradient", i, impl.shape.str()));
    }
    const auto [first, is_new] = seen.try_emplace(impl.storage, i);
    if (!is_new) throw_error("SGD", fmt::format("parameters {} and {} share their values", first->second, i));
  }
}

}  // namespace

// The slots that one operation updates.
struct SGD::Group {
  DType dtype;
  Device device;
  std::vector<Slot*> slots;
};

SGD::SGD(std::vector<Tensor> parameters, SGDOptions options) : options_(options) {
  check(options);
  check(parameters);
  slots_.reserve(parameters.size());
  for (Tensor& parameter : parameters) slots_.push_back({.parameter = std::move(parameter), .velocity = {}});
}

void SGD::set_lr(double lr) {
  check_not_negative("lr", lr);
  options_.lr = lr;
}

void SGD::zero_grad() {
  for (Slot& slot : slots_) slot.parameter.zero_grad();
}

void SGD::step(Location where) {
  std::vector<Group> groups;
  for (Slot& slot : slots_) {
    if (!slot.parameter.grad().defined()) continue;
    const DType dtype = slot.parameter.dtype();
    const Device device = slot.parameter.device();
    auto group = groups.begin();
    while (group != groups.end() && !(group->dtype == dtype && group->device == device)) ++group;
    if (group == groups.end()) group = groups.insert(group, {.dtype = dtype, .device = device, .slots = {}});
    group->slots.push_back(&slot);
  }
  if (groups.empty()) throw_error("SGD", fmt::format("none of the {} parameters has a gradient", slots_.size()));
  for (const Group& group : groups) step(group, where);
}

void SGD::step(const Group& group, Location where) {
  std::vector<Tensor> gradients;  // the operands refer to them
  gradients.reserve(group.slots.size());
  std::vector<detail::OperandRef> operands;
  operands.reserve(3 * group.slots.size());
  for (const Slot* slot : group.slots) operands.push_back(detail::updates(slot->parameter));
  if (options_.momentum != 0) {
    for (Slot* slot : group.slots) {
      if (!slot->velocity.defined()) {
        slot->velocity = zeros(slot->parameter.shape(), {.dtype = group.dtype, .device = group.device}, where);
      }
      operands.push_back(detail::updates(slot->velocity));
    }
  }
  for (const Slot* slot : group.slots) {
    operands.push_back(detail::reads(gradients.emplace_back(slot->parameter.grad())));
  }
  detail::submit(detail::Op::sgd, operands,
                 detail::SgdAttributes{.lr = options_.lr,
                                       .momentum = options_.momentum,
                                       .weight_decay = options_.weight_decay,
                                       .nesterov = options_.nesterov,
                                       .count = static_cast<std::int32_t>(group.slots.size())},
                 where);
}

}  // namespace asyncgrad::optim
