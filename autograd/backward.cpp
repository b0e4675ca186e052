// The walk along the tape, and the members of Tensor that concern it.
#include <fmt/format.h>

#include <functional>
#include <map>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/node.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

namespace {

using detail::Gradients;
using detail::Leaf;

// A node whose gradient is incomplete, because nodes with larger numbers may still add to it. Owns a reference to it.
class Pending {
 public:
  Pending(Node& node, Tensor gradient) : gradient(std::move(gradient)), node_(node) { node.retain(); }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  ~Pending() { Node::release(&node_); }

  Node& node() const { return node_; }
  Tensor gradient;

 private:
  Node& node_;
};

// Visits nodes by descending number, and so each node after all nodes that were computed from it. The order of the
// additions depends on the program alone.
class Walk final : private detail::GradientBuffers {
 public:
  Walk(bool retain_graph, Location where) : retain_graph_(retain_graph), where_(where) {}

  void run(const Tensor& result) {
    Node& last = *result.impl()->node;
    check_intact(last);
    {
      const detail::BackwardScope scope(last.origin(), where_);
      deliver(last, ones(result.shape(), {.dtype = result.dtype(), .device = result.device()}));
    }
    while (!pending_.empty()) visit(pending_.extract(pending_.begin()).mapped());
  }

 private:
  void visit(Pending& pending) {
    Node& node = pending.node();
    check_intact(node);
    const detail::BackwardScope scope(node.origin(), where_);
    Gradients gradients(node, *this);
    node.backward(std::move(pending.gradient), gradients);
    for (int i = 0; i < node.input_count(); ++i) {
      Tensor gradient = gradients.take(i);
      if (gradient.defined()) deliver(*node.input(i), std::move(gradient));
    }
    if (!retain_graph_) node.let_go();
  }

  void deliver(Node& node, Tensor gradient) {
    if (gradient.shape() != node.shape()) {
      throw_error(node.operation(), fmt::format("the gradient has the shape {}, the value {}", gradient.shape().str(),
                                                node.shape().str()));
    }
    if (node.is_leaf()) {
      static_cast<Leaf&>(node).accumulate(std::move(gradient));
      return;
    }
    const auto found = pending_.find(node.number());
    if (found == pending_.end()) {
      pending_.try_emplace(node.number(), node, std::move(gradient));
    } else {
      found->second.gradient = found->second.gradient + gradient;
    }
  }

  Tensor buffer(Node& node, const Tensor& like) override {
    if (node.is_leaf()) return static_cast<Leaf&>(node).buffer(like);
    const auto [place, is_new] = pending_.try_emplace(node.number(), node, Tensor());
    detail::make_buffer(place->second.gradient, node.shape(), like);
    return place->second.gradient;
  }

  static void check_intact(const Node& node) {
    if (node.is_intact()) return;
    throw_error("backward", fmt::format("an earlier backward() has dropped what {}, queued at {}, had saved; pass "
                                        "retain_graph = true to that call",
                                        node.operation(), node.origin().str()));
  }

  using Place = std::pair<const std::uint64_t, Pending>;

  std::map<std::uint64_t, Pending, std::greater<>, detail::SmallObjectAllocator<Place>> pending_;
  bool retain_graph_;
  Location where_;
};

// The tensor's node if it is a leaf, or null.
Leaf* leaf_of(const Tensor& tensor, const char* operation) {
  Node* node = detail::checked_impl(tensor, operation).node;
  return node != nullptr && node->is_leaf() ? static_cast<Leaf*>(node) : nullptr;
}

}  // namespace

bool Tensor::requires_grad() const { return detail::checked_impl(*this, "requires_grad").node != nullptr; }

bool Tensor::is_leaf() const {
  const Node* const node = detail::checked_impl(*this, "is_leaf").node;
  return node == nullptr || node->is_leaf();
}

Tensor& Tensor::requires_grad_(bool wanted) {
  const detail::TensorImpl& impl = detail::checked_impl(*this, "requires_grad_");
  if (impl.node != nullptr && !impl.node->is_leaf()) {
    throw_error("requires_grad_", fmt::format("{} is a result of {}, queued at {}; detach() gives one without history",
                                              impl.shape.str(), impl.node->operation(), impl.node->origin().str()));
  }
  if (wanted && !is_floating(impl.dtype)) {
    throw_error("requires_grad_", fmt::format("{} {} has no gradient", name(impl.dtype), impl.shape.str()));
  }
  if (wanted != (impl.node != nullptr)) detail::replace_node(*this, wanted ? new Leaf(*this) : nullptr);
  return *this;
}

Tensor Tensor::grad() const {
  const Leaf* leaf = leaf_of(*this, "grad");
  return leaf != nullptr ? leaf->grad() : Tensor();
}

void Tensor::zero_grad() {
  if (Leaf* leaf = leaf_of(*this, "zero_grad")) leaf->zero_grad();
}

void Tensor::backward(bool retain_graph, Location where) const {
  const detail::TensorImpl& impl = detail::checked_impl(*this, "backward");
  if (impl.shape.numel() != 1) {
    throw_error("backward", fmt::format("{} is not a scalar; take the mean or the sum", impl.shape.str()));
  }
  if (impl.node == nullptr) {
    throw_error("backward", "the tensor depends on no leaf whose gradient is wanted, or was computed under NoGrad");
  }
  const NoGrad no_grad;
  Walk(retain_graph, where).run(*this);
}

Tensor Tensor::detach() const { return detail::make_view(*this, detail::checked_impl(*this, "detach").shape); }

Tensor parameter(Tensor&& value) { return std::move(value.requires_grad_()); }
Tensor parameter(Tensor& value) { return value.requires_grad_(); }
Tensor parameter(const Tensor& value) {
  Tensor leaf = value.requires_grad() ? value : value.detach();
  leaf.requires_grad_();  // throws for the result of an operation
  return leaf;
}

}  // namespace asyncgrad
