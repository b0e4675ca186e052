#include "asyncgrad/autograd/tape/update.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <utility>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/leaves.h"
#include "asyncgrad/autograd/tape/row_gradient.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::detail {

namespace {

constinit std::atomic<std::uint64_t> backwards{0};

// The group of the parameter's type and device. If there is none, adds one with room for all parameters, so that it
// allocates once.
UpdateGroup& group_of(std::vector<UpdateGroup>& groups, const Tensor& parameter, std::size_t parameters,
                      std::size_t lists) {
  const DType dtype = parameter.dtype();
  const Device device = parameter.device();
  const auto found = std::find_if(groups.begin(), groups.end(), [&](const UpdateGroup& group) {
    return group.dtype == dtype && group.device == device;
  });
  if (found != groups.end()) return *found;
  UpdateGroup& group =
      groups.emplace_back(UpdateGroup{.dtype = dtype, .device = device, .members = {}, .gradients = {}});
  group.members.reserve(parameters);
  group.gradients.reserve(parameters);
  group.operands.reserve(lists * parameters);
  return group;
}

void add_operands(UpdateGroup& group, const std::vector<Tensor>& parameters, std::span<const State> states) {
  for (const std::size_t member : group.members) group.operands.push_back(updates(parameters[member]));
  for (const State state : states) {
    for (const std::size_t member : group.members) group.operands.push_back(updates((*state)[member]));
  }
  for (const Tensor& gradient : group.gradients) group.operands.push_back(reads(gradient));
}

// Queues the update of the rows that the parameter's gradient has.
void submit_row_update(const std::vector<Tensor>& parameters, std::span<const State> states, std::size_t i,
                       RowGradient& rows, UpdateAttributes attributes, const Location& where) {
  const RowGradient::Combined gradient = rows.combined(parameters[i].shape()[0], where);
  std::vector<OperandRef> operands{updates(parameters[i])};
  for (const State state : states) operands.push_back(updates((*state)[i]));
  for (const Tensor& tensor : {gradient.indices, gradient.places, gradient.sums}) operands.push_back(reads(tensor));
  attributes.count = 1;
  submit(Op::update_rows, operands, attributes, where);
}

}  // namespace

void check_parameters(const char* optimiser, const std::vector<Tensor>& parameters) {
  if (parameters.empty()) {
    throw_error(optimiser,
                "the list of parameters is empty: no layer of the network lists a tensor that requires a "
                "gradient, as parameter() makes it; a network without any has nothing to train");
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const TensorImpl& impl = checked_impl(parameters[i], optimiser);
    if (!is_parameter(parameters[i])) {
      throw_error(optimiser,
                  fmt::format("parameter {} of shape {} requires no gradient; parameter() or requires_grad_() makes it "
                              "one that does",
                              i, impl.shape.str()));
    }
    if (!parameters[i].is_leaf()) {
      throw_error(optimiser, fmt::format("parameter {} of shape {} is the result of an operation; an optimiser needs a "
                                         "leaf, such as parameter(x.detach())",
                                         i, impl.shape.str()));
    }
    if (!has_arithmetic(impl.dtype)) {
      throw_error(optimiser,
                  fmt::format("parameter {} of shape {} is {}; keep it in float32 and convert it where it is "
                              "used",
                              i, impl.shape.str(), name(impl.dtype)));
    }
  }
  check_distinct(optimiser, parameters);
}

void check_distinct(const char* owner, const std::vector<Tensor>& parameters) {
  std::unordered_map<const Storage*, std::size_t> seen;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const TensorImpl& impl = checked_impl(parameters[i], owner);
    const auto [first, is_new] = seen.try_emplace(impl.storage, i);
    if (is_new) continue;
    throw_error(owner, fmt::format("parameters {} and {} of shape {} share their storage; list one of them",
                                   first->second, i, impl.shape.str()));
  }
}

std::vector<Tensor> make_state(const std::vector<Tensor>& parameters, double value, const Location& where) {
  std::vector<Tensor> state;
  for (const Tensor& p : parameters) {
    state.push_back(full(p.shape(), value, {.dtype = p.dtype(), .device = p.device()}, where));
    note_use(state.back(), StorageUse::optimizer_state);
  }
  return state;
}

std::uint64_t backward_count() { return backwards.load(std::memory_order_relaxed); }
void note_backward() { backwards.fetch_add(1, std::memory_order_relaxed); }

bool has_gradient(const Tensor& parameter) {
  return row_gradient_of(parameter) != nullptr || parameter.grad().defined();
}

Tensor gradient_values(const Tensor& parameter, const Location& where) {
  RowGradient* const rows = row_gradient_of(parameter);
  return rows == nullptr ? parameter.grad() : rows->combined(parameter.shape()[0], where).sums;
}

std::vector<UpdateGroup> update_groups(const std::vector<Tensor>& parameters, std::span<const State> states) {
  std::vector<UpdateGroup> groups;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (row_gradient_of(parameters[i]) != nullptr) continue;
    Tensor gradient = parameters[i].grad();
    if (!gradient.defined()) continue;
    UpdateGroup& group = group_of(groups, parameters[i], parameters.size(), 2 + states.size());
    group.members.push_back(i);
    group.gradients.push_back(std::move(gradient));
  }
  for (UpdateGroup& group : groups) add_operands(group, parameters, states);
  return groups;
}

void submit_update(const std::vector<Tensor>& parameters, std::span<const State> states, UpdateAttributes attributes,
                   const Location& where) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    RowGradient* const rows = row_gradient_of(parameters[i]);
    if (rows != nullptr) submit_row_update(parameters, states, i, *rows, attributes, where);
  }
  for (const UpdateGroup& group : update_groups(parameters, states)) {
    attributes.count = static_cast<std::int32_t>(group.members.size());
    submit(Op::update, group.operands, attributes, where);
  }
}

}  // namespace asyncgrad::detail
