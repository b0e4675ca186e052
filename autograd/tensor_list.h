// Tensors that a call is given.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// One tensor, a list in braces or a vector; it refers to them, and lasts for the call that gets it.
class TensorList {
 public:
  // NOLINTBEGIN(google-explicit-constructor): as calls are written
  TensorList(const Tensor& tensor) : tensors_(&tensor, 1) {}
  TensorList(std::initializer_list<Tensor> tensors) : tensors_(tensors.begin(), tensors.size()) {}
  TensorList(const std::vector<Tensor>& tensors) : tensors_(tensors) {}
  // NOLINTEND(google-explicit-constructor)
  std::span<const Tensor> all() const { return tensors_; }

 private:
  std::span<const Tensor> tensors_;
};

}  // namespace asyncgrad
