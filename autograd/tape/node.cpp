#include "asyncgrad/autograd/tape/node.h"

#include <fmt/format.h>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

namespace {

std::atomic<std::uint64_t> next{0};
constinit thread_local detail::TapeWatch* watch = nullptr;
// Nodes without references, a list linked through the nodes; and whether a call of release() on this thread ends them.
constinit thread_local Node* ended_nodes = nullptr;
constinit thread_local bool is_ending = false;

}  // namespace

Node::Node(const char* operation, Location where, const Tensor& result)
    : operation_(operation),
      number_(next.fetch_add(1, std::memory_order_relaxed)),
      origin_(detail::origin_at(where)),
      shape_(result.shape()) {}

std::uint64_t Node::next_number() { return next.load(std::memory_order_relaxed); }

void Node::set_inputs(detail::Op op, std::span<const Tensor> inputs) {
  if (watch != nullptr) watch->see(op, inputs);
  const auto count = static_cast<std::int32_t>(inputs.size());
  if (count > inline_inputs) many_inputs_ = new Node*[inputs.size()];
  input_count_ = count;
  std::size_t i = 0;
  for (Node*& input : this->inputs()) {
    const Tensor& tensor = inputs[i++];
    input = tensor.defined() ? tensor.impl()->node : nullptr;
    if (input != nullptr) input->retain();
  }
}

void Node::release_inputs() {
  for (Node*& input : inputs()) {
    if (input != nullptr) release(std::exchange(input, nullptr));
  }
}

void Node::release(Node* node) {
  if (!node->drop_reference()) return;
  node->next_ended_ = std::exchange(ended_nodes, node);
  if (is_ending) return;
  is_ending = true;
  while (ended_nodes != nullptr) {
    Node* const ended = std::exchange(ended_nodes, ended_nodes->next_ended_);
    for (Node* input : ended->inputs()) {
      if (input != nullptr && input->drop_reference()) input->next_ended_ = std::exchange(ended_nodes, input);
    }
    delete ended;
  }
  is_ending = false;
}

namespace detail {

void release_node(Node* node) { Node::release(node); }

void replace_node(const Tensor& tensor, Node* node) {
  TensorImpl& impl = *tensor.impl();
  if (Node* old = std::exchange(impl.node, node)) Node::release(old);
}

TapeWatch::TapeWatch() : first_(Node::next_number()), outer_(std::exchange(watch, this)) {}
TapeWatch::~TapeWatch() { watch = outer_; }

bool TapeWatch::is_older(const Tensor& tensor) const {
  return has_history(tensor) && tensor.impl()->node->number() < first_;
}

void TapeWatch::see(Op op, std::span<const Tensor> inputs) {
  operations_[static_cast<std::size_t>(op)] = true;
  for (const Tensor& input : inputs) {
    if (!is_older(input) || seen_.has(input.impl()->node)) continue;
    seen_.add(*input.impl()->node);
    found_.push_back(input);
  }
}

SavedTensor::SavedTensor(const Tensor& tensor) : value_(tensor.detach()), version_(tensor.impl()->storage->version) {}

const Tensor& Gradients::read(const SavedTensor& saved) const {
  const TensorImpl& impl = *saved.value_.impl();
  const std::uint32_t version = impl.storage->version;
  if (version != saved.version_) {
    throw_error(
        node_.operation(),
        fmt::format("a tensor that its gradient needs was written in place afterwards: {} {} is at version {}, saved "
                    "at version {}; queued at {}; write after backward(), or into a clone()",
                    name(impl.dtype), impl.shape.str(), version, saved.version_, node_.origin().str()));
  }
  return saved.value_;
}

const Tensor& Gradients::with_history(const SavedTensor& saved, Node* node) const {
  const Tensor& value = read(saved);
  if (node == nullptr) return value;
  const Tensor& view = with_history_.emplace_front(make_view(value, value.shape()));
  node->retain();
  replace_node(view, node);
  return view;
}

void Gradients::throw_not_differentiable(const Node& node) {
  throw_error(node.operation(), fmt::format("its gradient has no gradient, which create_graph asks for; queued at {}",
                                            node.origin().str()));
}

bool is_exclusive(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  const std::int64_t bytes = impl.shape.numel() * static_cast<std::int64_t>(size_bytes(impl.dtype));
  return impl.references == 1 && impl.storage->handles == 1 && bytes == impl.storage->value_bytes;
}

void make_buffer(Tensor& gradient, const Shape& shape, const Tensor& like) {
  if (!gradient.defined()) {
    gradient = zeros(shape, {.dtype = like.dtype(), .device = like.device()}, Location());
  } else if (!is_exclusive(gradient) || has_history(gradient)) {
    gradient = gradient.clone();
  }
}

Tensor sum_of_gradients(const Tensor& x, const Tensor& y) {
  return x.dtype() == bfloat16 ? (x.to(float32) + y.to(float32)).to(bfloat16) : x + y;
}

const Tensor& Leaf::buffer(const Tensor& like) {
  make_buffer(grad_, shape(), like);
  rows_.move_to(grad_);
  return grad_;
}

bool Leaf::keep_rows(const Tensor& indices, const Tensor& dy) {
  if (grad_.defined()) return false;
  rows_.add(indices, dy);
  return true;
}

void Leaf::accumulate(Tensor gradient) {
  if (!rows_.is_empty()) buffer(gradient);
  if (grad_.defined()) {
    grad_ = sum_of_gradients(grad_, gradient);
  } else {
    grad_ = is_exclusive(gradient) ? std::move(gradient) : gradient.clone();
  }
}

}  // namespace detail

}  // namespace asyncgrad
