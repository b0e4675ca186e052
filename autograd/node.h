// The tape. Internal.
//
// A tensor whose gradient is wanted has a node. It is a leaf, which holds the gradient that has accumulated so far, or
// the node of the operation that computed the tensor, which holds the nodes of the operation's inputs and the values
// that its backward function has saved. A node counts the references of tensors and of other nodes to it. Saved tensors
// and the gradients of leaves have no history, so there are no cycles.
//
// Thread safety: the counts of references are atomic; everything else belongs to the thread that uses the tensors.
#pragma once

#include <array>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>

#include "asyncgrad/autograd/grad_mode.h"
#include "asyncgrad/core/origin/origin.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad {

namespace detail {
class Gradients;
}

class Node {
 public:
  static constexpr int max_inputs = 3;

  Node(const char* operation, Location where, const Tensor& result);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const char* operation() const { return operation_; }
  const detail::Origin& origin() const { return origin_; }
  // Numbers increase from node to node, so an operation's number is larger than those of its inputs.
  std::uint64_t number() const { return number_; }
  const Shape& shape() const { return shape_; }
  // Null if the input requires no gradient.
  Node* input(int i) const { return inputs_[static_cast<std::size_t>(i)]; }

  static void* operator new(std::size_t size) { return detail::SmallObjects::take(size); }
  static void operator delete(void* memory, std::size_t size) { detail::SmallObjects::give_back(memory, size); }

  virtual bool is_leaf() const = 0;
  // False once let_go() has dropped what backward needs.
  virtual bool is_intact() const = 0;
  // Computes the wanted gradients of the inputs from dy, the gradient of the result.
  virtual void backward(Tensor dy, detail::Gradients& gradients) = 0;
  // Drops the saved values and the references to the inputs.
  virtual void let_go() = 0;

  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  // Works without recursion, because a chain may have a million nodes.
  static void release(Node* node);

 protected:
  virtual ~Node() = default;
  void set_inputs(std::initializer_list<Tensor> inputs);
  void release_inputs();

 private:
  bool drop_reference() { return references_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

  std::atomic<std::int32_t> references_{1};
  const char* operation_;
  std::uint64_t number_;
  detail::Origin origin_;
  Shape shape_;
  std::array<Node*, max_inputs> inputs_{};
  Node* next_ended_ = nullptr;  // a list in release()
};

namespace detail {

// A value that backward needs, without its history, and the version it had.
class SavedTensor {
 public:
  SavedTensor() = default;
  explicit SavedTensor(const Tensor& tensor);

 private:
  friend class Gradients;
  Tensor value_;
  std::uint32_t version_ = 0;
};

// Saves the tensor if `needed`, else nothing.
inline SavedTensor save(const Tensor& tensor, bool needed = true) {
  return needed ? SavedTensor(tensor) : SavedTensor();
}

// What a backward function gets: it tells which gradients are wanted, reads saved tensors, and takes the results.
class Gradients {
 public:
  explicit Gradients(const Node& node) : node_(node) {}

  bool wants(int input) const { return node_.input(input) != nullptr; }
  const Shape& shape(int input) const { return node_.input(input)->shape(); }
  // Throws Error if the tensor has been written since it was saved.
  const Tensor& read(const SavedTensor& saved) const;
  // Sets the gradient of an input to compute() if it is wanted.
  template <class Compute>
  void operator()(int input, Compute&& compute) {
    if (wants(input)) results_[static_cast<std::size_t>(input)] = compute();
  }
  Tensor take(int input) { return std::exchange(results_[static_cast<std::size_t>(input)], Tensor()); }

 private:
  const Node& node_;
  std::array<Tensor, Node::max_inputs> results_;
};

// The node of a tensor whose gradient the program asked for.
class Leaf final : public Node {
 public:
  explicit Leaf(const Tensor& tensor) : Node("leaf", Location(), tensor) {}
  bool is_leaf() const override { return true; }
  bool is_intact() const override { return true; }
  void backward(Tensor, Gradients&) override {}
  void let_go() override {}
  // Adds to the gradient. The first one is kept without a copy if no other handle shares its values.
  void accumulate(Tensor gradient);
  const Tensor& grad() const { return grad_; }
  void zero_grad() { grad_ = Tensor(); }

 private:
  Tensor grad_;
};

template <class Function>
class OperationNode final : public Node {
 public:
  OperationNode(const char* operation, Location where, const Tensor& result, std::initializer_list<Tensor> inputs,
                Function function)
      : Node(operation, where, result), function_(std::move(function)) {
    set_inputs(inputs);
  }
  bool is_leaf() const override { return false; }
  bool is_intact() const override { return function_.has_value(); }
  void backward(Tensor dy, Gradients& gradients) override { (*function_)(std::move(dy), gradients); }
  void let_go() override {
    function_.reset();
    release_inputs();
  }

 private:
  std::optional<Function> function_;
};

inline bool has_history(const Tensor& tensor) { return tensor.defined() && tensor.impl()->node != nullptr; }

// True if an operation on these inputs is to be recorded.
bool records(const std::convertible_to<const Tensor&> auto&... inputs) {
  return (has_history(inputs) || ...) && grad_enabled();
}

// Replaces the tensor's history by `node`, which may be null.
void replace_node(const Tensor& tensor, Node* node);

// Records that `result` was computed from `inputs`, whose gradients `backward(dy, gradients)` computes. The result may
// be one of the inputs, which was then written in place.
template <class Function>
void record(const char* operation, Location where, const Tensor& result, std::initializer_list<Tensor> inputs,
            Function backward) {
  replace_node(result, new OperationNode<Function>(operation, where, result, inputs, std::move(backward)));
}

}  // namespace detail

}  // namespace asyncgrad
