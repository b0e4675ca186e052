#include "asyncgrad/autograd/tape/walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/tape/leaf.h"
#include "asyncgrad/autograd/tape/recording.h"
#include "asyncgrad/autograd/tape/reuse.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::detail {

namespace {

inline void check_intact(const Node& node) {
  if (!node.is_intact()) Gradients::throw_dropped(node);
}

[[noreturn]] void throw_shape(const Node& node, const Tensor& gradient) {
  throw_error(node.operation(), fmt::format("the gradient has the shape {}, the value {}; both are to have one shape",
                                            gradient.shape().str(), node.shape().str()));
}

bool leads_on(const Node& node, const NodeSet& passed) {
  for (int i = 0; i < node.input_count(); ++i) {
    if (passed.has(node.input(i))) return true;
  }
  return false;
}

}  // namespace

void Walk::run(std::span<const Tensor> heads, std::span<const Tensor> seeds) {
  for (const Tensor& head : heads) check_intact(*head.impl()->node);
  walk(heads, seeds);
}

void Walk::aim_at(std::span<const Tensor> targets, std::span<const Tensor> heads) {
  has_targets_ = true;
  for (const Tensor& target : targets) targets_.emplace(target.impl()->node, Tensor());
  find_passed(heads);
}

std::vector<Tensor> Walk::run_to(std::span<const Tensor> targets, std::span<const Tensor> heads,
                                 std::span<const Tensor> seeds) {
  walk(heads, seeds);
  std::vector<Tensor> gradients;
  for (const Tensor& target : targets) {
    Tensor& gradient = targets_.at(target.impl()->node);
    const bool is_shared = gradient.defined() && !options_.create_graph && !is_exclusive(gradient);
    gradients.push_back(is_shared ? gradient.clone(options_.where) : gradient);
  }
  return gradients;
}

void Walk::walk(std::span<const Tensor> heads, std::span<const Tensor> seeds) {
  const Recording recording(options_.create_graph);
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const Tensor& head = heads[i];
    Node& node = *head.impl()->node;
    if (has_targets_ && !passed_.has(&node)) continue;
    const OriginScope scope = OriginScope::of_gradient(node.origin(), options_.where);
    if (i < seeds.size() && seeds[i].defined()) {
      deliver(node, options_.create_graph ? seeds[i] : seeds[i].detach());
    } else {
      deliver(node, ones(head.shape(), {.dtype = head.dtype(), .device = head.device()}));
    }
  }
  while (!pending_.empty()) visit(pending_.extract(pending_.begin()).mapped());
}

// Every gradient comes here: visit() has it inline.
inline void Walk::add(Node& node, Tensor&& gradient) {
  if (node.number() < first_) return outer_->deliver(node, std::move(gradient));
  if (gradient.shape() != node.shape()) throw_shape(node, gradient);
  if (node.is_leaf() && !has_targets_) return static_cast<Leaf&>(node).accumulate(std::move(gradient));
  const auto [place, is_new] = pending_.try_emplace(node.number(), node, Tensor());
  Tensor& sum = place->second.gradient;
  sum = is_new ? std::move(gradient) : sum_of_gradients(std::move(sum), std::move(gradient));
}

void Walk::deliver(Node& node, Tensor gradient) { add(node, std::move(gradient)); }

void Walk::visit(PendingNode& pending) {
  Node& node = pending.node();
  const OriginScope scope = OriginScope::of_gradient(node.origin(), options_.where);
  if (has_targets_) {
    const auto target = targets_.find(&node);
    if (target != targets_.end()) target->second = pending.gradient;
    if (!leads_on(node, passed_)) return;
  } else if (node.keeps_grad()) {
    Tensor& kept = *node.kept_grad();
    kept = kept.defined() ? sum_of_gradients(std::move(kept), pending.gradient) : pending.gradient.clone();
  }
  check_intact(node);
  if (options_.create_graph && !node.is_differentiable()) Gradients::throw_not_differentiable(node);
  Gradients gradients(node, *this, options_.mode(), has_targets_ ? &passed_ : nullptr);
  node.backward(std::move(pending.gradient), gradients);
  for (int i = 0; i < node.input_count(); ++i) {
    Tensor gradient = gradients.take(i);
    if (gradient.defined()) add(*node.input(i), std::move(gradient));
  }
  if (options_.mode() == Gradients::Mode::once) node.let_go();
}

Tensor Walk::buffer(Node& node, const Tensor& like) {
  if (node.number() < first_) return outer_->buffer(node, like);
  if (node.is_leaf() && !has_targets_) return static_cast<Leaf&>(node).buffer(like);
  const auto [place, is_new] = pending_.try_emplace(node.number(), node, Tensor());
  make_buffer(place->second.gradient, node.shape(), like);
  return place->second.gradient;
}

bool Walk::has(const Node& node) const {
  if (node.number() < first_) return outer_->has(node);
  if (node.is_leaf() && !has_targets_) return static_cast<const Leaf&>(node).has_gradient();
  return pending_.contains(node.number());
}

bool Walk::keep_rows(Node& node, const Tensor& indices, const Tensor& dy) {
  if (node.number() < first_) return outer_->keep_rows(node, indices, dy);
  return node.is_leaf() && !has_targets_ && static_cast<Leaf&>(node).keep_rows(indices, dy);
}

// This works without recursion, because a chain may have a million nodes. Inputs have smaller numbers than what was
// computed from them, so nothing that is older than all targets leads to one.
void Walk::find_passed(std::span<const Tensor> heads) {
  std::uint64_t oldest = std::numeric_limits<std::uint64_t>::max();
  for (const auto& target : targets_) oldest = std::min(oldest, target.first->number());
  NodeSet seen;
  std::vector<const Node*> reached;
  const auto reach = [&](const Node* node) {
    if (node == nullptr || node->number() < oldest || seen.has(node)) return;
    seen.add(*node);
    reached.push_back(node);
  };
  for (const Tensor& head : heads) reach(head.impl()->node);
  for (std::size_t next = 0; next < reached.size(); ++next) {
    const Node& node = *reached[next];
    if (node.number() > oldest) check_intact(node);  // one that is not intact does not know its inputs
    for (int i = 0; i < node.input_count(); ++i) reach(node.input(i));
  }
  std::ranges::sort(reached, {}, &Node::number);
  for (const Node* node : reached) {
    if (targets_.contains(node) || leads_on(*node, passed_)) passed_.add(*node);
  }
}

}  // namespace asyncgrad::detail
