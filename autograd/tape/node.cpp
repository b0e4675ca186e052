#include "asyncgrad/autograd/tape/node.h"

#include <utility>

#include "asyncgrad/autograd/tape/tape_watch.h"

namespace asyncgrad {

namespace {

std::atomic<std::uint64_t> next{0};
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
  detail::TapeWatch::note(op, inputs);
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

}  // namespace detail

}  // namespace asyncgrad
