// A backward function is given the gradients that are wanted, and the values that were saved for it. Internal.
//
// If gradients of gradients are asked for, backward functions run while operations are recorded, and read what they
// have saved with its history. A backward function that computes its results from these by recorded operations alone
// says so by differentiable(). Any other one is refused then, because its results would count as constants.
#pragma once

#include <array>
#include <cstdint>
#include <forward_list>
#include <memory>
#include <utility>
#include <vector>

#include "asyncgrad/autograd/tape/node.h"

namespace asyncgrad::detail {

class SavedContents;
struct Part;

// A value that backward needs, without its history, and the version it had.
class SavedTensor {
 public:
  SavedTensor() = default;
  explicit SavedTensor(const Tensor& tensor);
  bool is_there() const { return value_.defined() || contents_ != nullptr; }

 private:
  friend class Gradients;
  // One of them: contents where values may be dropped and computed again.
  Tensor value_;
  std::shared_ptr<const SavedContents> contents_;
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
  // Whether the node has a gradient so far.
  virtual bool has(const Node& node) const = 0;
  // Adds to the node's gradient.
  virtual void deliver(Node& node, Tensor gradient) = 0;
  // Lets a leaf keep dy as rows, with the indices of the rows, in place of a tensor. Returns false if the leaf's gradient
  // is a tensor already.
  virtual bool keep_rows(Node& node, const Tensor& indices, const Tensor& dy) = 0;

 protected:
  ~GradientBuffers() = default;
};

// The argument of a backward function: it says which gradients are wanted, reads saved tensors, and takes the results.
class Gradients {
 public:
  // once: the tape is dropped afterwards; kept: it is not; recorded: nor is it, and the gradients have a history.
  enum class Mode : std::uint8_t { once, kept, recorded };

  // `passed`: the nodes whose gradients are wanted; null: all.
  Gradients(Node& node, GradientBuffers& buffers, Mode mode, const NodeSet* passed)
      : node_(node), buffers_(buffers), passed_(passed), mode_(mode) {
    if (node.input_count() > inline_results) more_results_.resize(static_cast<std::size_t>(node.input_count()));
  }

  bool wants(int input) const {
    const Node* const node = node_.input(input);
    return node != nullptr && (passed_ == nullptr || passed_->has(node));
  }
  const Shape& shape(int input) const { return node_.input(input)->shape(); }
  // True if the gradients are to have a history themselves, so that they may not come from a kernel that is not
  // recorded.
  bool are_recorded() const { return mode_ == Mode::recorded; }
  // For a backward function that adds to its inputs' gradients itself.
  GradientBuffers& buffers() { return buffers_; }
  const Node& node() const { return node_; }

  // A saved value that has no gradient, as a constant. Throws Error if it has been written since.
  const Tensor& read(const SavedTensor& saved) const;
  // Reads an input, or the operation's result, in the same way. It has its history if the gradients are recorded.
  const Tensor& read_input(const SavedTensor& saved, int input) const {
    return are_recorded() ? with_history(saved, node_.input(input)) : read(saved);
  }
  const Tensor& read_result(const SavedTensor& saved) const {
    return are_recorded() ? with_history(saved, &node_) : read(saved);
  }
  // Reads the result in the same way for the last time: nothing saves it any more if the tape is dropped.
  Tensor take_result(SavedTensor& saved) const;
  // Throws Error if the value, which had the version `saved`, has been written since.
  void check_unwritten(const Tensor& value, std::uint32_t saved) const;

  // Sets the gradient of an input to compute() if it is wanted.
  template <class Compute>
  void operator()(int input, Compute&& compute) {
    if (wants(input)) result(input) = compute();
  }
  // For a gradient that is zero but for some elements. make() makes it as a whole, by recorded operations where they are
  // recorded. Where the input has a gradient so far, add(buffer) adds those elements to it in place: T slices of one
  // tensor share one buffer. `like` has the gradient's type and device.
  template <class Add, class Make>
  void add_to(int input, const Tensor& like, Add&& add, Make&& make) {
    if (!wants(input)) return;
    Node& node = *node_.input(input);
    if (are_recorded() || !buffers_.has(node)) {
      result(input) = make();
    } else {
      add(buffers_.buffer(node, like));
    }
  }
  // Keeps dy at the indices of an input's rows, if that is a leaf and nothing is recorded. Otherwise does nothing and
  // returns false.
  bool keep_rows(int input, const Tensor& indices, const Tensor& dy) {
    return wants(input) && !are_recorded() && buffers_.keep_rows(*node_.input(input), indices, dy);
  }
  Tensor take(int input) { return std::exchange(result(input), Tensor()); }

  // These throw Error: what the node had saved is there no more; the operation's gradient has no gradient.
  [[noreturn]] static void throw_dropped(const Node& node);
  [[noreturn]] static void throw_not_differentiable(const Node& node);

 private:
  static constexpr int inline_results = 3;

  Tensor value_of(const SavedContents& contents, std::uint32_t version) const;
  [[noreturn]] void throw_overwritten(const Part& part, std::uint32_t version, std::uint32_t saved) const;
  const Tensor& with_history(const SavedTensor& saved, Node* node) const;
  Tensor& result(int input) {
    const auto i = static_cast<std::size_t>(input);
    return more_results_.empty() ? results_[i] : more_results_[i];
  }

  Node& node_;
  GradientBuffers& buffers_;
  const NodeSet* passed_;
  Mode mode_;
  std::array<Tensor, inline_results> results_;
  std::vector<Tensor> more_results_;        // of all inputs, where there are more
  mutable std::forward_list<Tensor> read_;  // what was read with its history, or came back
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

}  // namespace asyncgrad::detail
