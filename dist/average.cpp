#include "asyncgrad/dist/average.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/grad_mode.h"
#include "asyncgrad/autograd/tape/leaf.h"
#include "asyncgrad/autograd/tape/row_gradient.h"
#include "asyncgrad/autograd/tape/update.h"
#include "asyncgrad/core/engine.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/tensor_impl.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad::dist {

void check_device(const char* name, const detail::TensorImpl& impl, const World& world) {
  const Device device = world.communicator()->token().device();
  if (impl.device == device) return;
  throw_error(name, fmt::format("the tensor {} is on {}, and ranks exchange what is on {} alone; x{} copies it",
                                impl.shape.str(), impl.device.str(), device.str(), detail::to_str(device)));
}

namespace {

// Whether neither the program nor another gradient has a handle on the values. The caller has one, and the leaf.
bool is_own(const Tensor& gradient) {
  const detail::TensorImpl& impl = *gradient.impl();
  const detail::Storage& storage = *impl.storage;
  return impl.references == 2 && impl.node == nullptr && storage.handles == 1 &&
         detail::fills(storage, impl.shape, impl.dtype) && !storage.is_foreign;
}

// The parameter's gradient as a tensor that belongs to nobody else: zeros if it has none.
Tensor own_gradient(Tensor& parameter, const Location& where) {
  detail::RowGradient* const rows = detail::row_gradient_of(parameter);
  if (rows != nullptr || !parameter.grad().defined()) {
    Tensor whole = zeros_like(Arg(parameter, where));
    if (rows != nullptr) rows->move_to(whole);
    parameter.zero_grad();
    static_cast<detail::Leaf*>(parameter.impl()->node)->accumulate(std::move(whole));  // set_grad() would keep a copy
    return parameter.grad();
  }
  Tensor gradient = parameter.grad();
  if (is_own(gradient)) return gradient;
  parameter.set_grad(Arg(gradient, where));  // keeps a copy
  return parameter.grad();
}

// For each parameter, whether it has a gradient on some rank. `failure`: as queue_union() returns it.
std::vector<std::uint8_t> reached_parameters(const Caller& caller, const std::vector<Tensor>& parameters,
                                             const World& world, std::exception_ptr& failure, const Location& where) {
  std::vector<std::uint8_t> has;
  for (const Tensor& parameter : parameters) has.push_back(detail::has_gradient(parameter) ? 1 : 0);
  const bool has_all = std::ranges::find(has, 0) == has.end();
  Tensor all;
  failure = queue_union(caller, has, all, world.communicator(), where);
  // In a dry run there are no values, and other ranks are not asked.
  if (failure != nullptr || has_all || engine_options().schedule == Schedule::dry_run) return has;
  return all.to_vector<std::uint8_t>();
}

}  // namespace

std::exception_ptr queue_average(const Caller& caller, std::vector<Tensor> parameters, int divisor, const World& world,
                                 const Location& where, Terms terms) {
  const NoGrad no_grad;
  std::exception_ptr failure;  // of all ranks
  const std::vector<std::uint8_t> reached = reached_parameters(caller, parameters, world, failure, where);
  std::vector<Tensor> gradients;
  Terms of_gradients;
  for (std::size_t i = parameters.size(); i-- > 0;) {
    if (reached[i] == 0) continue;
    gradients.push_back(own_gradient(parameters[i], where));
    if (!terms.empty()) of_gradients.push_back(std::move(terms[i]));
  }
  const std::exception_ptr of_moves =
      queue_move({.kind = Move::sum, .divisor = divisor}, caller, gradients, world.communicator(), where, of_gradients);
  return failure != nullptr ? failure : of_moves;
}

}  // namespace asyncgrad::dist
