// The members of Tensor that concern the tape.
#include <fmt/format.h>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/gradients.h"
#include "asyncgrad/autograd/tape/leaf.h"
#include "asyncgrad/autograd/tape/node.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad {

namespace {

using detail::Leaf;

[[noreturn]] void throw_kept_by_rows(const Shape& shape) {
  throw_error("grad", fmt::format("the gradient of {} is kept by rows, for step() and clip_norm(); without "
                                  "row_gradients it is a tensor, and {} computes one",
                                  shape.str(), detail::in_program("ag::grad()", "ag.grad()")));
}

}  // namespace

bool Tensor::requires_grad() const { return detail::checked_impl(*this, "requires_grad").node != nullptr; }

bool Tensor::is_leaf() const {
  const Node* const node = detail::checked_impl(*this, "is_leaf").node;
  return node == nullptr || node->is_leaf();
}

Tensor& Tensor::requires_grad_(bool wanted, Location where) {
  const CallSite site(where);
  const detail::TensorImpl& impl = detail::checked_impl(*this, "requires_grad_");
  if (impl.node != nullptr && !impl.node->is_leaf()) {
    throw_error("requires_grad_", fmt::format("{} is a result of {}, queued at {}; detach() gives one without history",
                                              impl.shape.str(), impl.node->operation(), impl.node->origin().str()));
  }
  if (wanted && !is_floating(impl.dtype)) {
    throw_error("requires_grad_",
                fmt::format("{} {} has no gradient; x{} may have one", name(impl.dtype), impl.shape.str(),
                            detail::to_str(default_dtype())),
                ErrorKind::type);
  }
  if (wanted == (impl.node != nullptr)) return *this;  // nothing is written, because other threads may read it
  detail::replace_node(*this, wanted ? new Leaf(*this) : nullptr);
  impl_->is_parameter = true;
  return *this;
}

Tensor Tensor::grad() const {
  Node* const node = detail::checked_impl(*this, "grad").node;
  if (node == nullptr) return Tensor();
  if (detail::row_gradient_of(*this) != nullptr) throw_kept_by_rows(node->shape());
  if (node->is_leaf()) return static_cast<Leaf*>(node)->grad();
  return node->keeps_grad() ? *node->kept_grad() : Tensor();
}

void Tensor::zero_grad() {
  Node* const node = detail::checked_impl(*this, "zero_grad").node;
  if (node == nullptr) return;
  if (node->is_leaf()) {
    static_cast<Leaf*>(node)->zero_grad();
  } else if (node->keeps_grad()) {
    *node->kept_grad() = Tensor();
  }
}

void Tensor::set_grad(const Arg& gradient) {
  const detail::TensorImpl &impl = detail::checked_impl(*this, "set_grad"),
                           &values = detail::checked_impl(gradient, "set_grad");
  if (impl.node == nullptr || !impl.node->is_leaf()) {
    throw_error(
        "set_grad",
        fmt::format("{} is no leaf whose gradient is wanted; requires_grad_() makes a tensor without history one",
                    impl.shape.str()));
  }
  detail::check_alike("set_grad", {{"x", impl}, {"gradient", values}});
  if (impl.shape != values.shape) {
    throw_error("set_grad", fmt::format("shapes differ: x {}, gradient {}; both are to have one shape",
                                        impl.shape.str(), values.shape.str()));
  }
  Tensor copy = gradient->detach().clone(gradient.where());
  zero_grad();
  static_cast<Leaf*>(impl.node)->accumulate(std::move(copy));
}

void Tensor::retain_grad(Location where) const {
  const CallSite site(where);
  const detail::TensorImpl& impl = detail::checked_impl(*this, "retain_grad");
  if (impl.node == nullptr) {
    throw_error(
        "retain_grad",
        fmt::format(
            "{} depends on no leaf whose gradient is wanted, or was computed under {}; requires_grad_() makes it "
            "a leaf",
            impl.shape.str(), detail::no_grad_str()));
  }
  if (!impl.node->is_leaf()) impl.node->keep_grad();
}

void Tensor::backward(bool retain_graph, Location where) const {
  const CallSite site(where);
  asyncgrad::backward(*this, {}, {.retain_graph = retain_graph}, where);
}

void Tensor::backward(const Tensor& dy, bool retain_graph, Location where) const {
  const CallSite site(where);
  asyncgrad::backward(*this, dy, {.retain_graph = retain_graph}, where);
}

Tensor Tensor::detach() const { return detail::make_view(*this, detail::checked_impl(*this, "detach").shape); }

Tensor parameter(Tensor&& value, Location where) { return std::move(value.requires_grad_(true, where)); }
Tensor parameter(Tensor& value, Location where) { return value.requires_grad_(true, where); }
Tensor parameter(const Tensor& value, Location where) {
  Tensor leaf = value.requires_grad() ? value : value.detach();
  leaf.requires_grad_(true, where);  // throws for the result of an operation
  return leaf;
}

}  // namespace asyncgrad
