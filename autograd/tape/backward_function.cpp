#include "asyncgrad/autograd/tape/backward_function.h"

#include <fmt/format.h>

#include "asyncgrad/autograd/budget/saved_contents.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad::detail {

SavedTensor::SavedTensor(const Tensor& tensor) : version_(tensor.impl()->storage->version) {
  if (Plan::get().is_on()) {
    contents_ = std::make_shared<const SavedContents>(tensor);
  } else {
    value_ = tensor.detach();
  }
}

const Tensor& Gradients::read(const SavedTensor& saved) const {
  if (!saved.is_there()) throw_dropped(node_);  // it was taken, by a backward() that then failed
  if (saved.contents_ != nullptr) return read_.emplace_front(value_of(*saved.contents_, saved.version_));
  check_unwritten(saved.value_, saved.version_);
  return saved.value_;
}

void Gradients::check_unwritten(const Tensor& value, std::uint32_t saved) const {
  const TensorImpl& impl = *value.impl();
  const std::uint32_t version = impl.storage->version;
  if (version != saved) throw_overwritten(part_of(impl), version, saved);
}

Tensor Gradients::take_result(SavedTensor& saved) const {
  if (mode_ != Mode::once) return read_result(saved);
  Tensor value = saved.contents_ != nullptr ? value_of(*saved.contents_, saved.version_) : read(saved);
  saved = SavedTensor();
  return value;
}

Tensor Gradients::value_of(const SavedContents& contents, std::uint32_t version) const {
  Tensor value = contents.read();
  if (!value.defined()) throw_overwritten(contents.part(), version + 1, version);
  return value;
}

void Gradients::throw_overwritten(const Part& part, std::uint32_t version, std::uint32_t saved) const {
  throw_error(
      node_.operation(),
      fmt::format("a tensor that its gradient needs was written in place afterwards: {} {} is at version {}, saved "
                  "at version {}; queued at {}; write after backward(), or into a clone()",
                  name(part.dtype), part.shape.str(), version, saved, node_.origin().str()));
}

const Tensor& Gradients::with_history(const SavedTensor& saved, Node* node) const {
  const Tensor& value = read(saved);
  if (node == nullptr) return value;
  const Tensor& view = read_.emplace_front(make_view(value, value.shape()));
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
