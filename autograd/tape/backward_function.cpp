#include "asyncgrad/autograd/tape/backward_function.h"

#include <fmt/format.h>

#include "asyncgrad/core/error.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad::detail {

SavedTensor::SavedTensor(const Tensor& tensor) : value_(tensor.detach()), version_(tensor.impl()->storage->version) {}

const Tensor& Gradients::read(const SavedTensor& saved) const {
  if (!saved.is_there()) throw_dropped(node_);  // it was taken, by a backward() that then failed
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

void Gradients::throw_dropped(const Node& node) {
  throw_error("backward", fmt::format("an earlier backward() has dropped what {}, queued at {}, had saved; pass "
                                      "{} to that call, or compute the loss again",
                                      node.operation(), node.origin().str(),
                                      in_program("retain_graph = true", "retain_graph=True")));
}

void Gradients::throw_not_differentiable(const Node& node) {
  throw_error(node.operation(), fmt::format("its gradient has no gradient, which create_graph asks for; queued at {}",
                                            node.origin().str()));
}

}  // namespace asyncgrad::detail
