#include "asyncgrad/dist/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <tuple>
#include <utility>

#include "asyncgrad/autograd/copy.h"
#include "asyncgrad/autograd/grad_mode.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/tensor_impl.h"
#include "asyncgrad/core/wording.h"
#include "asyncgrad/dist/average.h"
#include "asyncgrad/dist/queue_collectives.h"

namespace asyncgrad::dist {

void broadcast_tensors(const std::vector<Tensor>& tensors, const World& world, Location where) {
  const CallSite site(where);
  for (const Tensor& tensor : tensors) static_cast<void>(detail::checked_impl(tensor, "broadcast"));
  if (world.size() == 1) return;
  world.communicator()->check("broadcast");
  std::vector<Tensor> different;
  std::set<std::tuple<const detail::Storage*, std::int64_t, std::int64_t>> seen;  // views may share a storage
  for (const Tensor& tensor : tensors) {
    const detail::TensorImpl& impl = *tensor.impl();
    check_device("broadcast", impl, world);
    if (seen.emplace(impl.storage, impl.offset_bytes, impl.shape.numel()).second) different.push_back(tensor);
  }
  throw_if(queue_move({.kind = Move::broadcast}, {.name = "broadcast"}, different, world.communicator(), where));
}

void average_gradients(optim::Optimizer& optimizer, const World& world, Location where) {
  if (world.size() == 1) return;
  const CallSite site(where);
  const char* const name = "average_gradients";
  std::vector<Tensor> parameters = optimizer.all_parameters();
  world.communicator()->check(name);
  for (const Tensor& parameter : parameters) check_device(name, *parameter.impl(), world);
  std::exception_ptr failure;  // of all ranks
  // What one rank alone does not queue would leave the ranks in different calls for ever.
  try {
    failure = queue_average({.name = name}, std::move(parameters), world.size(), world, where);
  } catch (const std::exception& error) {
    world.communicator()->leave(error.what());
    throw;
  }
  throw_if(failure);
}

Tensor sum(const Arg& tensor, const World& world) {
  return sum(std::vector<Tensor>{tensor}, world, tensor.where()).front();
}

std::vector<Tensor> sum(const std::vector<Tensor>& tensors, const World& world, Location where) {
  const CallSite site(where);
  for (const Tensor& tensor : tensors) {
    const detail::TensorImpl& impl = detail::checked_impl(tensor, "sum");
    if (has_arithmetic(impl.dtype)) continue;
    throw_error("sum",
                fmt::format("ranks add float32, float64 and int64, not {}; x{} converts it", name(impl.dtype),
                            detail::to_str(float32)),
                ErrorKind::type);
  }
  std::vector<Tensor> totals;
  if (world.size() == 1) {
    for (const Tensor& tensor : tensors) totals.push_back(tensor.detach());
    return totals;
  }
  world.communicator()->check("sum");
  for (const Tensor& tensor : tensors) check_device("sum", *tensor.impl(), world);
  const NoGrad no_grad;
  for (const Tensor& tensor : tensors) totals.push_back(tensor.detach().clone(where));
  throw_if(queue_move({.kind = Move::sum}, {.name = "sum"}, totals, world.communicator(), where));
  return totals;
}

}  // namespace asyncgrad::dist
