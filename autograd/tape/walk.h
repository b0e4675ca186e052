// The walk along the tape. Internal.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <unordered_map>

#include "asyncgrad/autograd/tape/backward_function.h"
#include "asyncgrad/autograd/tape/node.h"

namespace asyncgrad::detail {

struct WalkOptions {
  bool retain_graph = false;
  bool create_graph = false;  // gradients get a history; keeps the tape, too
  Location where{};

  Gradients::Mode mode() const {
    if (create_graph) return Gradients::Mode::recorded;
    return retain_graph ? Gradients::Mode::kept : Gradients::Mode::once;
  }
};

// A node whose gradient is incomplete, because nodes with larger numbers may still add to it. Owns a reference to it.
class PendingNode {
 public:
  PendingNode(Node& node, Tensor gradient) : gradient(std::move(gradient)), node_(node) { node.retain(); }
  PendingNode(const PendingNode&) = delete;
  PendingNode& operator=(const PendingNode&) = delete;
  ~PendingNode() { Node::release(&node_); }

  Node& node() const { return node_; }
  Tensor gradient;

 private:
  Node& node_;
};

// Visits nodes by descending number, and so each node after all nodes that were computed from it. The order of the
// additions depends on the program alone.
class Walk final : private GradientBuffers {
 public:
  explicit Walk(const WalkOptions& options) : options_(options) {}
  // A walk inside of another one, which gets the gradients of nodes whose number is less than `first`.
  Walk(const WalkOptions& options, GradientBuffers& outer, std::uint64_t first)
      : options_(options), outer_(&outer), first_(first) {}

  // Walks from tensors with a history, given their gradients, to all leaves, and adds to the leaves' gradients. A
  // gradient that is Tensor{} stands for ones.
  void run(std::span<const Tensor> heads, std::span<const Tensor> seeds);
  // Called before run_to(). From now on the walk leaves out nodes that lead to none of these tensors, which have a
  // history, and no node keeps a gradient. Throws Error if a part of the tape that may lead to them has been dropped.
  void aim_at(std::span<const Tensor> targets, std::span<const Tensor> heads);
  bool reaches(const Tensor& target) const { return passed_.has(target.impl()->node); }
  // The gradients of these tensors: Tensor{} for one that no head depends on.
  std::vector<Tensor> run_to(std::span<const Tensor> targets, std::span<const Tensor> heads,
                             std::span<const Tensor> seeds);

 private:
  void walk(std::span<const Tensor> heads, std::span<const Tensor> seeds);
  void visit(PendingNode& pending);
  void add(Node& node, Tensor&& gradient);
  void deliver(Node& node, Tensor gradient) override;
  Tensor buffer(Node& node, const Tensor& like) override;
  bool has(const Node& node) const override;
  bool keep_rows(Node& node, const Tensor& indices, const Tensor& dy) override;
  void find_passed(std::span<const Tensor> heads);

  using Place = std::pair<const std::uint64_t, PendingNode>;
  std::map<std::uint64_t, PendingNode, std::greater<>, SmallObjectAllocator<Place>> pending_;
  WalkOptions options_;
  GradientBuffers* outer_ = nullptr;
  std::uint64_t first_ = 0;
  // The tensors whose gradients run_to() returns, and the nodes that lead to them.
  bool has_targets_ = false;
  std::unordered_map<const Node*, Tensor> targets_;
  NodeSet passed_;
};

}  // namespace asyncgrad::detail
