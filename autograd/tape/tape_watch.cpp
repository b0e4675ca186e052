#include "asyncgrad/autograd/tape/tape_watch.h"

#include <utility>

namespace asyncgrad::detail {

namespace {

constinit thread_local TapeWatch* watch = nullptr;

}  // namespace

TapeWatch::TapeWatch() : first_(Node::next_number()), outer_(std::exchange(watch, this)) {}
TapeWatch::~TapeWatch() { watch = outer_; }

void TapeWatch::note(Op op, std::span<const Tensor> inputs) {
  if (watch != nullptr) watch->see(op, inputs);
}

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

}  // namespace asyncgrad::detail
