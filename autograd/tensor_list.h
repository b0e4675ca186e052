// Tensors that a call is given.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <span>
#include <vector>

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// One tensor, a list in braces or a vector. It refers to them, and is valid during the call that gets it.
class TensorList {
 public:
  // NOLINTBEGIN(google-explicit-constructor): as calls are written
  TensorList(const Tensor& tensor) : first_(&tensor), size_(1) {}
  TensorList(std::initializer_list<Tensor> tensors) : first_(std::data(tensors)), size_(tensors.size()) {}
  TensorList(const std::vector<Tensor>& tensors) : first_(tensors.data()), size_(tensors.size()) {}
  // NOLINTEND(google-explicit-constructor)
  std::span<const Tensor> all() const;

 private:
  const Tensor* first_;  // no span: to make one here would cost each program that includes this much of its compilation
  std::size_t size_;
};

}  // namespace asyncgrad
