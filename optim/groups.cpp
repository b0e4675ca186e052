#include "asyncgrad/optim/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "asyncgrad/core/error.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::optim {

void check_not_negative(const char* optimiser, const char* what, double value) {
  if (!std::isfinite(value) || value < 0) {
    throw_error(optimiser, fmt::format("{} must be finite and not negative, got {}", what, value));
  }
}

void check_parameters(const char* optimiser, const std::vector<Tensor>& parameters) {
  if (parameters.empty()) throw_error(optimiser, "got no parameters");
  std::unordered_map<const detail::Storage*, std::size_t> seen;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const detail::TensorImpl& impl = detail::checked_impl(parameters[i], optimiser);
    if (!parameters[i].requires_grad()) {
      throw_error(optimiser, fmt::format("parameter {} of shape {} requires no gradient", i, impl.shape.str()));
    }
    if (!parameters[i].is_leaf()) {
      throw_error(optimiser, fmt::format("parameter {} of shape {} is the result of an operation; what is trained is a "
                                         "leaf, such as parameter(x.detach())",
                                         i, impl.shape.str()));
    }
    const auto [first, is_new] = seen.try_emplace(impl.storage, i);
    if (!is_new) throw_error(optimiser, fmt::format("parameters {} and {} share their storage", first->second, i));
  }
}

void Group::add_updates(const std::vector<Tensor>& tensors) {
  for (const std::size_t member : members) operands.push_back(detail::updates(tensors[member]));
}
void Group::add_gradients() {
  for (const Tensor& gradient : gradients) operands.push_back(detail::reads(gradient));
}

std::vector<Group> groups_with_gradients(const char* optimiser, const std::vector<Tensor>& parameters) {
  constexpr std::size_t most_lists = 5;  // of operands: Adam's
  std::vector<Group> groups;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Tensor gradient = parameters[i].grad();
    if (!gradient.defined()) continue;
    const DType dtype = parameters[i].dtype();
    const Device device = parameters[i].device();
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& candidate) {
      return candidate.dtype == dtype && candidate.device == device;
    });
    if (group == groups.end()) {
      group = groups.insert(group, {.dtype = dtype, .device = device, .members = {}, .gradients = {}});
      group->members.reserve(parameters.size());
      group->gradients.reserve(parameters.size());
      group->operands.reserve(most_lists * parameters.size());
    }
    group->members.push_back(i);
    group->gradients.push_back(std::move(gradient));
  }
  if (groups.empty()) {
    throw_error(optimiser, fmt::format("none of the {} parameters has a gradient", parameters.size()));
  }
  return groups;
}

std::vector<Tensor> zeros_like(const std::vector<Tensor>& parameters, Location where) {
  std::vector<Tensor> tensors;
  tensors.reserve(parameters.size());
  for (const Tensor& parameter : parameters) {
    tensors.push_back(zeros(parameter.shape(), {.dtype = parameter.dtype(), .device = parameter.device()}, where));
  }
  return tensors;
}

}  // namespace asyncgrad::optim
