#include "asyncgrad/autograd/node.h"

#include <fmt/format.h>

#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

namespace {

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> number{0};
  return number.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

Node::Node(const char* operation, Location where, const Tensor& result)
    : operation_(operation), number_(next_number()), origin_(detail::origin_at(where)), shape_(result.shape()) {}

void Node::set_inputs(std::initializer_list<Tensor> inputs) {
  std::size_t i = 0;
  for (const Tensor& tensor : inputs) {
    Node* node = tensor.defined() ? tensor.impl()->node : nullptr;
    if (node != nullptr) node->retain();
    inputs_[i++] = node;
  }
}

void Node::release_inputs() {
  for (Node*& input : inputs_) {
    if (input != nullptr) release(std::exchange(input, nullptr));
  }
}

void Node::release(Node* node) {
  if (!node->drop_reference()) return;
  // Nodes without references form a list, linked through the nodes themselves.
  while (node != nullptr) {
    Node* ended = node;
    node = ended->next_ended_;
    for (Node* input : ended->inputs_) {
      if (input == nullptr || !input->drop_reference()) continue;
      input->next_ended_ = node;
      node = input;
    }
    delete ended;
  }
}

namespace detail {

void release_node(Node* node) { Node::release(node); }

void replace_node(const Tensor& tensor, Node* node) {
  TensorImpl& impl = *tensor.impl();
  if (Node* old = std::exchange(impl.node, node)) Node::release(old);
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

namespace {

// True if no other handle shares the values.
bool is_exclusive(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  return impl.references == 1 && impl.storage->handles == 1;
}

}  // namespace

void Leaf::accumulate(Tensor gradient) {
  if (grad_.defined()) {
    grad_ = grad_ + gradient;
  } else {
    grad_ = is_exclusive(gradient) ? std::move(gradient) : gradient.clone();
  }
}

}  // namespace detail

}  // namespace asyncgrad
