#include "asyncgrad/autograd/gradients.h"

#include <fmt/format.h>

#include "asyncgrad/autograd/tape/crossed_loss.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/autograd/tape/update.h"
#include "asyncgrad/autograd/tape/walk.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad {

namespace {

using namespace detail;

// Throws Error unless dy may be y's gradient.
void check_seed(const char* operation, const TensorImpl& y, const Tensor* dy) {
  if (dy == nullptr || !dy->defined()) {
    if (y.shape.numel() == 1) return;
    throw_error(operation,
                fmt::format("{} is not a scalar; take the mean or the sum, or pass its gradient", y.shape.str()));
  }
  const TensorImpl& impl = checked_operand(*dy, operation);
  check_alike(operation, {{"y", y}, {"dy", impl}});
  if (impl.shape == y.shape) return;
  throw_error(operation, fmt::format("the gradient has the shape {}, the value {}; both are to have one shape",
                                     impl.shape.str(), y.shape.str()));
}

void check_heads(const char* operation, std::span<const Tensor> ys, std::span<const Tensor> dys) {
  if (ys.empty()) throw_error(operation, "needs at least one tensor, got none");
  if (!dys.empty() && dys.size() != ys.size()) {
    throw_error(operation, fmt::format("needs a gradient for each of {} tensors, got {}", ys.size(), dys.size()));
  }
  for (std::size_t i = 0; i < ys.size(); ++i) {
    const TensorImpl& impl = checked_impl(ys[i], operation);
    check_seed(operation, impl, dys.empty() ? nullptr : &dys[i]);
    if (impl.node == nullptr) {
      throw_error(operation, fmt::format("the tensor {2} depends on no leaf whose gradient is wanted, or was computed "
                                         "under {0}; parameter() or requires_grad_() makes a leaf, and {1} records "
                                         "within {0}",
                                         no_grad_str(), enable_grad_str(), impl.shape.str()));
    }
  }
}

void check_inputs(std::span<const Tensor> inputs) {
  if (inputs.empty()) throw_error("grad", "needs at least one input, got none");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorImpl& impl = checked_impl(inputs[i], "grad");
    if (impl.node != nullptr) continue;
    throw_error("grad", fmt::format("input {} {} requires no gradient; requires_grad_() makes it a leaf that does", i,
                                    impl.shape.str()));
  }
}

[[noreturn]] void throw_unused(std::size_t i, const Tensor& input) {
  throw_error("grad", fmt::format("no y depends on input {} {}; allow_unused gives {} for it", i, input.shape().str(),
                                  in_program("Tensor{}", "None")));
}

}  // namespace

void backward(TensorList ys, TensorList dys, BackwardOptions options, Location where) {
  const CallSite site(where);
  check_heads("backward", ys.all(), dys.all());
  warn_of_crossed_loss(ys.all());
  note_backward();
  Walk({.retain_graph = options.retain_graph, .where = where}).run(ys.all(), dys.all());
}

std::vector<Tensor> grad(TensorList ys, TensorList inputs, TensorList dys, GradOptions options, Location where) {
  const CallSite site(where);
  check_heads("grad", ys.all(), dys.all());
  check_inputs(inputs.all());
  Walk walk({.retain_graph = options.retain_graph, .create_graph = options.create_graph, .where = where});
  walk.aim_at(inputs.all(), ys.all());
  for (std::size_t i = 0; i < inputs.all().size() && !options.allow_unused; ++i) {
    if (!walk.reaches(inputs.all()[i])) throw_unused(i, inputs.all()[i]);
  }
  std::vector<Tensor> gradients = walk.run_to(inputs.all(), ys.all(), dys.all());
  // An operation on the way may have no gradient for it.
  for (std::size_t i = 0; i < gradients.size() && !options.allow_unused; ++i) {
    if (!gradients[i].defined()) throw_unused(i, inputs.all()[i]);
  }
  return gradients;
}

}  // namespace asyncgrad
