#include "asyncgrad/autograd/tape/in_place.h"

#include <fmt/format.h>

#include "asyncgrad/autograd/grad_mode.h"
#include "asyncgrad/autograd/tape/node.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/memory/planner.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad::detail {

namespace {

// Whether no other tensor shares the storage, and no tape has saved it. A handle that only serves to compute values
// again does not count, so that the answer does not depend on the budget.
bool is_alone(const Tensor& tensor) {
  const Storage& storage = *tensor.impl()->storage;
  const Planner* const planner = Planner::get();
  return storage.handles == 1 + (planner == nullptr ? 0 : planner->own_handles(storage));
}

}  // namespace

void check_writable(const char* operation, const Tensor& target, const Tensor& source) {
  if (!grad_enabled()) return;
  const TensorImpl& impl = *target.impl();
  if (impl.node != nullptr && impl.node->is_leaf()) {
    throw_error(operation, fmt::format("{} is a leaf whose gradient is wanted; write it under {}", impl.shape.str(),
                                       no_grad_str()));
  }
  if (impl.is_view && (impl.node != nullptr || has_history(source))) {
    if (is_alone(target)) {  // what it was taken from is gone
      target.impl()->is_view = false;
      return;
    }
    throw_error(operation,
                fmt::format("{} shares its storage with the tensor that it was taken from, whose history would miss "
                            "this; write that tensor, or a clone(), or under {}",
                            impl.shape.str(), no_grad_str()));
  }
}

void note_history(const Tensor& target) {
  Storage& storage = *target.impl()->storage;
  storage.history_version.store(storage.version.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

Tensor without_overlap(const Tensor& target, const Tensor& source, Location where) {
  const TensorImpl &to = *target.impl(), &from = *source.impl();
  if (&to == &from || to.storage != from.storage) return source;
  return source.detach().clone(where);
}

}  // namespace asyncgrad::detail
