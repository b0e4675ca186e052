// Memory of tensors that other libraries hold.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "asyncgrad/asyncgrad.h"
#include "nb.h"

namespace asyncgrad::python {

// While it lives, another library may hold the memory of a tensor, whose values are at `data`. Any thread may make and
// destroy it.
class Export {
 public:
  Export(Tensor tensor, void* data);
  Export(const Export&) = delete;
  Export& operator=(const Export&) = delete;
  ~Export();
  const Tensor& tensor() const { return tensor_; }
  void* data() const { return place_->first; }

 private:
  using Places = std::multimap<void*, const Export*, std::less<>>;
  struct All;
  static All& all();
  friend std::optional<Tensor> exported_tensor(const void* data, DType dtype, const Shape& shape);

  const Tensor tensor_;
  Places::iterator place_;
};

// A tensor of the values at `data`, which shares them with the tensor that has given them to another library, so that
// operations on both follow each other. Nothing if no tensor of the type has, or if there are no values.
std::optional<Tensor> exported_tensor(const void* data, DType dtype, const Shape& shape);

}  // namespace asyncgrad::python
