#include "asyncgrad/autograd/recompute.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "asyncgrad/autograd/own/own_gradients.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/autograd/tape/recording.h"
#include "asyncgrad/autograd/tape/tape_watch.h"
#include "asyncgrad/autograd/tape/walk.h"
#include "asyncgrad/core/engine/read_watch.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/math_mode.h"
#include "asyncgrad/core/random_tape.h"

namespace asyncgrad {

namespace {

using namespace detail;

using Function = RecomputedFunction;

// A value without a history that the function read, and the version that it had. backward() compares versions alone; a
// SavedTensor would have the value computed again where values are dropped.
struct Constant {
  explicit Constant(const Tensor& read) : value(read), version(read.impl()->storage->version) {}
  Tensor value;
  std::uint32_t version;
};

class RecomputeBackward {
 public:
  RecomputeBackward(Function function, const Tensor& x, std::span<const Tensor> inputs,
                    std::span<const Tensor> all_read, RandomTape tape, Location where)
      : function_(std::move(function)),
        x_(x),
        tape_(std::move(tape)),
        where_(where),
        math_(math_mode()),
        is_training_(asyncgrad::is_training()) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].impl() == x.impl()) place_of_x_ = static_cast<int>(i);
      inputs_.emplace_back(inputs[i]);
    }
    for (const Tensor& tensor : all_read) {
      const auto shares = [&](const Tensor& saved) { return saved.impl()->storage == tensor.impl()->storage; };
      if (!shares(x) && std::ranges::none_of(inputs, shares)) constants_.emplace_back(tensor);
    }
    path_ = current_layer_path();
  }

  const Function& function() const { return function_; }

  // Gradients go to the nodes from before the second computation as they would have gone from the first one's nodes: in
  // the same order, and so with the same bits.
  void operator()(const Tensor& dy, Gradients& gradients) const {
    for (const SavedTensor& input : inputs_) gradients.read(input);  // throws if it was written
    for (const Constant& constant : constants_) gradients.check_unwritten(constant.value, constant.version);
    const std::uint64_t first = Node::next_number();
    const TapeWatch watch;
    const Tensor y = compute_again(input(gradients));
    for (const Tensor& used : watch.found()) check_same(used, gradients.node());
    if (!has_history(y) || y.impl()->node->number() < first) throw_other();
    const Location backward = origin_at(Location()).backward;
    Walk({.create_graph = gradients.are_recorded(), .where = backward}, gradients.buffers(), first)
        .run({&y, 1}, {&dy, 1});
  }

 private:
  [[noreturn]] static void throw_other() {
    throw_error("recompute",
                "the function computes something else the second time; it must do the same for the same input");
  }

  // A gradient for another tensor would be lost to the one that gave the value.
  void check_same(const Tensor& used, const Node& node) const {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (used.impl()->node == node.input(static_cast<int>(i))) return;
    }
    throw_error("recompute",
                fmt::format("the function uses another tensor {} the second time, which was made or put in its "
                            "place after the first; it must stay until backward() has run",
                            used.shape().str()));
  }

  // x as the function got it: as a tensor with x's history.
  Tensor input(const Gradients& gradients) const {
    const Tensor& x = gradients.read(x_);
    Tensor view = make_view(x, x.shape());
    if (place_of_x_ >= 0) {
      Node* const node = gradients.node().input(place_of_x_);
      node->retain();
      replace_node(view, node);
    }
    return view;
  }

  Tensor compute_again(const Tensor& x) const {
    const Recording recording(true);
    const Recomputation recomputation(is_training_);
    const MathModeScope math(math_);
    const RandomTape::Replay replay(tape_);
    const ForwardScope forward(path_);
    Tensor y = function_(Arg(x, where_));
    if (!y.defined()) throw_other();
    replay.check_end();
    return y;
  }

  Function function_;
  SavedTensor x_;
  std::vector<SavedTensor> inputs_;
  std::vector<Constant> constants_;
  RandomTape tape_;
  Location where_;
  std::uint32_t path_ = 0;
  int place_of_x_ = -1;
  MathMode math_;
  bool is_training_;
};

}  // namespace

namespace detail {

const RecomputedFunction* recomputed_function_of(const Node& node) {
  const auto* const recompute = dynamic_cast<const OperationNode<Differentiable<RecomputeBackward>>*>(&node);
  return recompute != nullptr && recompute->is_intact() ? &recompute->function().function() : nullptr;
}

}  // namespace detail

// The first computation is recorded to see what it depends on; that tape is dropped at once.
Tensor recomputed(Function function, const Arg& x) {
  const TensorImpl& impl = checked_operand(x, "recompute");
  if (function == nullptr) throw_error("recompute", "there is no function");
  if (!grad_enabled()) return function(x);
  const std::uint32_t version = impl.storage->version;
  RandomTape tape;
  std::vector<Tensor> inputs, all_read;
  Tensor y;
  {
    const ReadWatch reads;
    TapeWatch watch;
    const RandomTape::Recording recording(tape);
    y = function(x);
    if (!y.defined()) throw_error("recompute", "the function gave a tensor that holds nothing");
    if (!has_history(y) || watch.is_older(y)) return y;
    inputs = watch.found();
    all_read = reads.found();
    if (impl.storage->version != version) {
      throw_error("recompute", fmt::format("the function wrote its input {} in place; write into a clone() of it",
                                           impl.shape.str()));
    }
    for (const Tensor& input : inputs) {
      if (watch.is_older(input)) continue;
      throw_error("recompute", fmt::format("the function wrote a tensor {} in place that has a history from before",
                                           input.shape().str()));
    }
  }
  Tensor result = make_view(y, y.shape());
  result.impl()->is_view = y.impl()->is_view;
  result.impl()->view_version = y.impl()->view_version;
  record("recompute", x.where(), result, std::span<const Tensor>(inputs),
         differentiable(RecomputeBackward(std::move(function), x, inputs, all_read, std::move(tape), x.where())));
  return result;
}

}  // namespace asyncgrad
