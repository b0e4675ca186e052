// The tape. Internal.
//
// A tensor whose gradient is wanted has a node. It is a leaf, which holds the gradient that has accumulated so far, or
// the node of the operation that computed the tensor, which holds the nodes of the operation's inputs and the values
// that its backward function has saved. A node counts the references of tensors and of other nodes to it. Saved tensors
// and the gradients that nodes keep have no history, so only a program's own function can make a cycle, by capturing
// the tensor whose gradient it computes.
//
// Thread safety: the counts of references are atomic; everything else belongs to the thread that uses the tensors.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_set>

#include "asyncgrad/core/backend/operations.h"
#include "asyncgrad/core/origin/origin.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad {

namespace detail {
class Gradients;
struct CrossedShapes;
}  // namespace detail

class Node {
 public:
  Node(const char* operation, Location where, const Tensor& result);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const char* operation() const { return operation_; }
  const detail::Origin& origin() const { return origin_; }
  // Numbers increase from node to node, so an operation's number is larger than those of its inputs.
  std::uint64_t number() const { return number_; }
  // All nodes from now on have at least this number.
  static std::uint64_t next_number();
  const Shape& shape() const { return shape_; }
  int input_count() const { return input_count_; }
  // Null if the input requires no gradient.
  Node* input(int i) const { return inputs()[static_cast<std::size_t>(i)]; }

  static void* operator new(std::size_t size) { return detail::SmallObjects::take(size); }
  static void operator delete(void* memory, std::size_t size) { detail::SmallObjects::give_back(memory, size); }

  virtual bool is_leaf() const = 0;
  // False once let_go() has dropped what backward needs.
  virtual bool is_intact() const = 0;
  // Whether backward() may run while operations are recorded, see differentiable().
  virtual bool is_differentiable() const = 0;
  // Of a difference that crosses_in_loss(), the shapes of its operands; else null.
  virtual const detail::CrossedShapes* crossed() const { return nullptr; }
  // Computes the wanted gradients of the inputs from dy, the gradient of the result.
  virtual void backward(Tensor dy, detail::Gradients& gradients) = 0;
  // Drops the saved values and the references to the inputs.
  virtual void let_go() = 0;

  // retain_grad() of an operation's result: the node keeps what backward() computes for it.
  bool keeps_grad() const { return kept_grad_ != nullptr; }
  void keep_grad() {
    if (kept_grad_ == nullptr) kept_grad_ = std::make_unique<Tensor>();
  }
  std::unique_ptr<Tensor>& kept_grad() { return kept_grad_; }

  // Whether only one tensor or one other node refers to it.
  bool has_one_owner() const { return references_.load(std::memory_order_relaxed) == 1; }
  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  // Works without recursion, because a chain may have a million nodes. A node that ends meanwhile, because a function
  // of the program had captured its tensor, waits until the outermost call of the thread ends it.
  static void release(Node* node);

 protected:
  virtual ~Node() {
    if (has_many_inputs()) delete[] many_inputs_;
  }
  void set_inputs(detail::Op op, std::span<const Tensor> inputs);
  void release_inputs();

 private:
  static constexpr int inline_inputs = 3;

  bool has_many_inputs() const { return input_count_ > inline_inputs; }
  std::span<Node*> inputs() {
    return {has_many_inputs() ? many_inputs_ : few_inputs_, static_cast<std::size_t>(input_count_)};
  }
  std::span<Node* const> inputs() const {
    return {has_many_inputs() ? many_inputs_ : few_inputs_, static_cast<std::size_t>(input_count_)};
  }
  bool drop_reference() { return references_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

  std::atomic<std::int32_t> references_{1};
  std::int32_t input_count_ = 0;
  const char* operation_;
  std::uint64_t number_;
  detail::Origin origin_;
  Shape shape_;
  union {
    Node* few_inputs_[inline_inputs]{};
    Node** many_inputs_;  // owned
  };
  Node* next_ended_ = nullptr;  // a list in release()
  std::unique_ptr<Tensor> kept_grad_;
};

namespace detail {

// Nodes in no order.
class NodeSet {
 public:
  void add(const Node& node) { nodes_.insert(&node); }
  bool has(const Node* node) const { return nodes_.contains(node); }

 private:
  std::unordered_set<const Node*> nodes_;
};

inline bool has_history(const Tensor& tensor) { return tensor.defined() && tensor.impl()->node != nullptr; }

// Replaces the tensor's history by `node`, which may be null.
void replace_node(const Tensor& tensor, Node* node);

}  // namespace detail

}  // namespace asyncgrad
