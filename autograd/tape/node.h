// The tape. Internal.
//
// A tensor whose gradient is wanted has a node. It is a leaf, which holds the gradient that has accumulated so far, or
// the node of the operation that computed the tensor, which holds the nodes of the operation's inputs and the values
// that its backward function has saved. A node counts the references of tensors and of other nodes to it. Saved tensors
// and the gradients that nodes keep have no history, so only a program's own function can make a cycle, by capturing
// the tensor whose gradient it computes.
//
// If gradients of gradients are asked for, backward functions run while operations are recorded, and read what they
// have saved with its history. A backward function that computes its results from these by recorded operations alone
// says so by differentiable(). Any other one is refused then, because its results would count as constants.
//
// Thread safety: the counts of references are atomic; everything else belongs to the thread that uses the tensors.
#pragma once

#include <array>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <forward_list>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "asyncgrad/autograd/grad_mode.h"
#include "asyncgrad/autograd/tape/row_gradient.h"
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

// A value that backward needs, without its history, and the version it had.
class SavedTensor {
 public:
  SavedTensor() = default;
  explicit SavedTensor(const Tensor& tensor);
  bool is_there() const { return value_.defined(); }

 private:
  friend class Gradients;
  Tensor value_;
  std::uint32_t version_ = 0;
};

// Saves the tensor if `needed`, else nothing.
inline SavedTensor save(const Tensor& tensor, bool needed = true) {
  return needed ? SavedTensor(tensor) : SavedTensor();
}

// The gradients that are still incomplete during backward().
class GradientBuffers {
 public:
  // The node's gradient so far, or zeros of `like`'s type and device. The tensor shares its values with no other one,
  // so the caller may add to it in place, by an operation that completes the gradient.
  virtual Tensor buffer(Node& node, const Tensor& like) = 0;
  // Adds to the node's gradient.
  virtual void deliver(Node& node, Tensor gradient) = 0;
  // Lets a leaf keep dy as rows, with the indices of the rows, in place of a tensor. Returns false if the leaf's gradient
  // is a tensor already.
  virtual bool keep_rows(Node& node, const Tensor& indices, const Tensor& dy) = 0;

 protected:
  ~GradientBuffers() = default;
};

// Nodes that a walk for some tensors' gradients passes, in no order.
class NodeSet {
 public:
  void add(const Node& node) { nodes_.insert(&node); }
  bool has(const Node* node) const { return nodes_.contains(node); }

 private:
  std::unordered_set<const Node*> nodes_;
};

// The argument of a backward function: it says which gradients are wanted, reads saved tensors, and takes the results.
class Gradients {
 public:
  enum class Mode : std::uint8_t { plain, recorded };

  // `passed`: the nodes whose gradients are wanted; null: all.
  Gradients(Node& node, GradientBuffers& buffers, Mode mode, const NodeSet* passed)
      : node_(node), buffers_(buffers), passed_(passed), are_recorded_(mode == Mode::recorded) {
    if (node.input_count() > inline_results) more_results_.resize(static_cast<std::size_t>(node.input_count()));
  }

  bool wants(int input) const {
    const Node* const node = node_.input(input);
    return node != nullptr && (passed_ == nullptr || passed_->has(node));
  }
  const Shape& shape(int input) const { return node_.input(input)->shape(); }
  // True if the gradients are to have a history themselves, so that they may not come from a kernel that is not
  // recorded.
  bool are_recorded() const { return are_recorded_; }
  // For a backward function that adds to its inputs' gradients itself.
  GradientBuffers& buffers() { return buffers_; }
  const Node& node() const { return node_; }

  // A saved value that has no gradient, as a constant. Throws Error if it has been written since.
  const Tensor& read(const SavedTensor& saved) const;
  // Reads an input, or the operation's result, in the same way. It has its history if the gradients are recorded.
  const Tensor& read_input(const SavedTensor& saved, int input) const {
    return are_recorded_ ? with_history(saved, node_.input(input)) : read(saved);
  }
  const Tensor& read_result(const SavedTensor& saved) const {
    return are_recorded_ ? with_history(saved, &node_) : read(saved);
  }

  // Sets the gradient of an input to compute() if it is wanted.
  template <class Compute>
  void operator()(int input, Compute&& compute) {
    if (wants(input)) result(input) = compute();
  }
  // For a gradient that is zero but for some elements: add(buffer) adds those to a tensor of the input's shape, if it
  // is wanted. So T slices of one tensor share one buffer. `like` has the gradient's type and device. make() makes the
  // whole gradient by recorded operations, for where they are recorded.
  template <class Add, class Make>
  void add_to(int input, const Tensor& like, Add&& add, Make&& make) {
    if (!wants(input)) return;
    if (are_recorded_) {
      result(input) = make();
    } else {
      add(buffers_.buffer(*node_.input(input), like));
    }
  }
  // Does the same in a backward function that is not differentiable().
  template <class Add>
  void add_to(int input, const Tensor& like, Add&& add) {
    add_to(input, like, std::forward<Add>(add), [this]() -> Tensor { throw_not_differentiable(node_); });
  }
  // Keeps dy at the indices of an input's rows, if that is a leaf and nothing is recorded. Otherwise does nothing and
  // returns false.
  bool keep_rows(int input, const Tensor& indices, const Tensor& dy) {
    return wants(input) && !are_recorded_ && buffers_.keep_rows(*node_.input(input), indices, dy);
  }
  Tensor take(int input) { return std::exchange(result(input), Tensor()); }

  // Throws Error: the operation's gradient has no gradient.
  [[noreturn]] static void throw_not_differentiable(const Node& node);

 private:
  static constexpr int inline_results = 3;

  const Tensor& with_history(const SavedTensor& saved, Node* node) const;
  Tensor& result(int input) {
    const auto i = static_cast<std::size_t>(input);
    return more_results_.empty() ? results_[i] : more_results_[i];
  }

  Node& node_;
  GradientBuffers& buffers_;
  const NodeSet* passed_;
  bool are_recorded_;
  std::array<Tensor, inline_results> results_;
  std::vector<Tensor> more_results_;                // of all inputs, where there are more
  mutable std::forward_list<Tensor> with_history_;  // what was read with its history
};

// A backward function that may run while operations are recorded: all that it computes from dy and from inputs and
// results that it has saved (read_input, read_result) comes from operations that are recorded, such as the public ones.
// It uses a kernel of its own that has no gradient only where the gradients are not recorded.
template <class Function>
struct Differentiable : Function {
  using Function::operator();
};
template <class Function>
Differentiable<Function> differentiable(Function function) {
  return {std::move(function)};
}

// True if no other handle shares the tensor's storage, and the storage holds nothing else.
bool is_exclusive(const Tensor& tensor);
// x + y, of bfloat16, too.
Tensor sum_of_gradients(const Tensor& x, const Tensor& y);
// Makes `gradient` a tensor that GradientBuffers::buffer may return.
void make_buffer(Tensor& gradient, const Shape& shape, const Tensor& like);

// The node of a tensor whose gradient the program asked for.
class Leaf final : public Node {
 public:
  explicit Leaf(const Tensor& tensor) : Node("leaf", Location(), tensor) {}
  bool is_leaf() const override { return true; }
  bool is_intact() const override { return true; }
  bool is_differentiable() const override { return true; }
  void backward(Tensor, Gradients&) override {}
  void let_go() override {}
  // Adds to the gradient. The first one is kept without a copy if no other handle shares its values.
  void accumulate(Tensor gradient);
  // See GradientBuffers.
  const Tensor& buffer(const Tensor& like);
  bool keep_rows(const Tensor& indices, const Tensor& dy);
  const Tensor& grad() const { return grad_; }
  RowGradient& rows() { return rows_; }
  void zero_grad() {
    grad_ = Tensor();
    rows_.clear();
  }

 private:
  // At most one of them holds the gradient: what is added as a tensor makes it a tensor.
  Tensor grad_;
  RowGradient rows_;
};

template <class Function>
inline constexpr bool is_differentiable_function = false;
template <class Function>
inline constexpr bool is_differentiable_function<Differentiable<Function>> = true;

// An operation of the table that autograd records, in the name of its row or in another one.
struct Recorded {
  // Does not compile unless the row says that the operation has a gradient.
  consteval Recorded(Op recorded) : op(recorded), name(row_of(recorded).name) {  // NOLINT(google-explicit-constructor)
    if (row_of(recorded).gradient != GradientBy::autograd) throw "the row says that autograd has no gradient of it";
  }
  constexpr Recorded as(const char* shown) const {
    Recorded renamed = *this;
    renamed.name = shown;
    return renamed;
  }

  Op op;
  const char* name;
};

template <class Function>
class OperationNode final : public Node {
 public:
  // `op` is Op::count for several operations that have a gradient together.
  OperationNode(Op op, const char* name, Location where, const Tensor& result, std::span<const Tensor> inputs,
                Function function)
      : Node(name, where, result), function_(std::move(function)) {
    set_inputs(op, inputs);
  }
  bool is_leaf() const override { return false; }
  bool is_intact() const override { return function_.has_value(); }
  bool is_differentiable() const override { return is_differentiable_function<Function>; }
  const CrossedShapes* crossed() const override {
    if constexpr (requires(const Function& f) { f.crossed(); }) {
      return is_intact() ? function_->crossed() : nullptr;
    } else {
      return nullptr;
    }
  }
  void backward(Tensor dy, Gradients& gradients) override { (*function_)(std::move(dy), gradients); }
  void let_go() override {
    function_.reset();
    release_inputs();
  }
  const Function& function() const { return *function_; }  // while it is intact

 private:
  std::optional<Function> function_;
};

inline bool has_history(const Tensor& tensor) { return tensor.defined() && tensor.impl()->node != nullptr; }

// True if an operation on these inputs is to be recorded.
bool records(const std::convertible_to<const Tensor&> auto&... inputs) {
  return (has_history(inputs) || ...) && grad_enabled();
}

// While it lives, it notes which operations this thread records, and which tensors with a history from before they
// read.
class TapeWatch {
 public:
  TapeWatch();
  TapeWatch(const TapeWatch&) = delete;
  TapeWatch& operator=(const TapeWatch&) = delete;
  ~TapeWatch();

  void see(Op op, std::span<const Tensor> inputs);
  // Whether the tensor has a history from before.
  bool is_older(const Tensor& tensor) const;
  const std::vector<Tensor>& found() const { return found_; }
  bool has_seen(Op op) const { return operations_[static_cast<std::size_t>(op)]; }

 private:
  std::uint64_t first_;
  std::vector<Tensor> found_;
  NodeSet seen_;
  std::array<bool, op_count + 1> operations_{};
  TapeWatch* outer_;
};

// Replaces the tensor's history by `node`, which may be null.
void replace_node(const Tensor& tensor, Node* node);

// Records that the operation computed `result` from `inputs`, whose gradients `backward(dy, gradients)` computes. The
// result may be one of the inputs, which was then written in place.
template <class Function>
void record(Recorded operation, Location where, const Tensor& result, std::span<const Tensor> inputs,
            Differentiable<Function> backward) {
  using Operation = OperationNode<Differentiable<Function>>;
  replace_node(result, new Operation(operation.op, operation.name, where, result, inputs, std::move(backward)));
}
template <class Function>
void record(Recorded operation, Location where, const Tensor& result, std::initializer_list<Tensor> inputs,
            Differentiable<Function> backward) {
  record(operation, where, result, std::span(inputs.begin(), inputs.size()), std::move(backward));
}

// The same for a view, for several operations that have a gradient together, and for what the program computes.
template <class Function>
void record(const char* name, Location where, const Tensor& result, std::span<const Tensor> inputs, Function backward) {
  replace_node(result, new OperationNode<Function>(Op::count, name, where, result, inputs, std::move(backward)));
}
template <class Function>
void record(const char* name, Location where, const Tensor& result, std::initializer_list<Tensor> inputs,
            Function backward) {
  record(name, where, result, std::span(inputs.begin(), inputs.size()), std::move(backward));
}

}  // namespace detail

}  // namespace asyncgrad
