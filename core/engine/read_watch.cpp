#include "asyncgrad/core/engine/read_watch.h"

#include <utility>

#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::detail {

ReadWatch::ReadWatch() : outer_(std::exchange(innermost_, this)) {}
ReadWatch::~ReadWatch() { innermost_ = outer_; }

void ReadWatch::note(std::span<const OperandRef> operands) {
  for (ReadWatch* watch = innermost_; watch != nullptr; watch = watch->outer_) {
    for (const OperandRef& operand : operands) watch->see(operand);
  }
}

void ReadWatch::note_made(const Storage& storage) {
  for (ReadWatch* watch = innermost_; watch != nullptr; watch = watch->outer_) watch->is_written_[&storage] = true;
}

void ReadWatch::see(const OperandRef& operand) {
  const bool writes = operand.access != Access::read;
  const auto [place, is_new] = is_written_.try_emplace(operand.impl->storage, writes);
  if (is_new && !writes) read_.push_back(make_view(*operand.impl, operand.impl->shape));
  place->second |= writes;
}

std::vector<Tensor> ReadWatch::found() const {
  std::vector<Tensor> found;
  for (const Tensor& tensor : read_) {
    if (!is_written_.at(tensor.impl()->storage)) found.push_back(tensor);
  }
  return found;
}

}  // namespace asyncgrad::detail
