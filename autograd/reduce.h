// Sums, means and maxima, over axes and over devices. All are queued and may wait for room in the queue. They throw
// Error at the call for axes that do not exist or are named twice.
#pragma once

#include <array>
#include <initializer_list>
#include <vector>

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// The axes of a reduction: one axis, such as `-1`, or several, such as `{0, 1}`. Negative axes count from the end.
class Axes {
 public:
  Axes(int axis) : Axes({axis}) {}  // NOLINT(google-explicit-constructor): `sum(x, 0)` is the point
  Axes(bool) = delete;              // `sum(x, true)` would be axis 1
  // Throws Error for more axes than a tensor can have.
  Axes(std::initializer_list<int> axes);  // NOLINT(google-explicit-constructor)

  const int* begin() const { return axes_.data(); }
  const int* end() const { return axes_.data() + count_; }

 private:
  std::array<int, Shape::max_rank> axes_{};
  int count_ = 0;
};

// Over all elements: the result is a scalar, of shape ().
Tensor sum(const Arg& x);
Tensor mean(const Arg& x);  // not int64

// Over the given axes, which are dropped from the shape, or kept with extent 1.
Tensor sum(const Arg& x, const Axes& axes, bool keep_dims = false);
Tensor mean(const Arg& x, const Axes& axes, bool keep_dims = false);  // not int64

// The largest element along an axis, or NaN if there is one. All elements that are equal to it share the gradient
// evenly. Throws Error for an axis without elements.
Tensor max(const Arg& x, int axis, bool keep_dims = false);
// The index of the largest element along an axis, in int64: the first of equal ones; NaN counts as the largest. Not
// differentiable. Throws as max does.
Tensor argmax(const Arg& x, int axis, bool keep_dims = false);

// The sum, on `device`, of tensors of one shape and type that lie on any devices: ((inputs[0] + inputs[1]) + …), always
// in this order and therefore always with the same bits. Each input gets its gradient on its own device. Throws Error
// without inputs, for shapes or types that differ, and if there is no such device.
Tensor reduce_add(const std::vector<Tensor>& inputs, Device device, Location where = Location::current());

}  // namespace asyncgrad
