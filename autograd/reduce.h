// Sums, means, extremes and what follows from them, over axes and over devices. All are queued and may wait for room in
// the queue. They throw Error at the call for axes that do not exist or are named twice.
#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <vector>

#include "asyncgrad/autograd/tensor_list.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// The axes of a reduction: one axis, such as `-1`, or several, such as `{0, 1}`. Negative axes count from the end.
class Axes {
 public:
  Axes(int axis) : Axes({axis}) {}  // NOLINT(google-explicit-constructor): `sum(x, 0)` is the point
  Axes(bool) = delete;              // `sum(x, true)` would be axis 1
  // Throws Error for more axes than a tensor can have.
  Axes(std::initializer_list<int> axes);  // NOLINT(google-explicit-constructor)
  explicit Axes(std::span<const int> axes);

  const int* begin() const { return axes_.data(); }
  const int* end() const { return axes_.data() + count_; }

 private:
  std::array<int, Shape::max_rank> axes_{};
  int count_ = 0;
};

// Over all elements: the result is a scalar, of shape (). The sum of bool is the number of true ones, in int64, and the
// mean of bool is their share, in the default type.
Tensor sum(const Arg& x);
Tensor mean(const Arg& x);  // not int64

// Over the given axes, which are dropped from the shape, or kept with extent 1.
Tensor sum(const Arg& x, const Axes& axes, bool keep_dims = false);
Tensor mean(const Arg& x, const Axes& axes, bool keep_dims = false);  // not int64

// The product of all elements, or over the given axes; 1 without elements. That of bool is int64, and products of int64
// wrap around; float32 is multiplied in float64. The gradient of an element is the product of all others, also where
// some of them are 0.
Tensor prod(const Arg& x);
Tensor prod(const Arg& x, const Axes& axes, bool keep_dims = false);

// Whether any element, or every element, is not 0; NaN is not 0. As bool, not differentiable. Without elements any() is
// false and all() is true.
Tensor any(const Arg& x);
Tensor any(const Arg& x, const Axes& axes, bool keep_dims = false);
Tensor all(const Arg& x);
Tensor all(const Arg& x, const Axes& axes, bool keep_dims = false);

// The largest or smallest of all elements, or over the given axes; NaN if one of them is NaN. All elements that are
// equal to it share the gradient evenly. Throws Error for an axis without elements.
Tensor max(const Arg& x);
Tensor max(const Arg& x, const Axes& axes, bool keep_dims = false);
Tensor min(const Arg& x);
Tensor min(const Arg& x, const Axes& axes, bool keep_dims = false);
// The index of the largest or smallest element along an axis, or among all elements in their order, in int64. If
// elements are equal, the first one counts. NaN counts as the largest and as the smallest. Not differentiable. Throws
// as max does.
Tensor argmax(const Arg& x);
Tensor argmax(const Arg& x, int axis, bool keep_dims = false);
Tensor argmin(const Arg& x);
Tensor argmin(const Arg& x, int axis, bool keep_dims = false);

// The sum of (x - mean(x))^2 divided by n - correction, where n is the number of elements that are reduced to one. With
// a correction of 1 it estimates the variance of the distribution from which the elements are a sample. Not int64.
// Throws Error unless n > correction.
Tensor variance(const Arg& x);
Tensor variance(const Arg& x, const Axes& axes, bool keep_dims = false, double correction = 0);

// sqrt(sum(x^2)); not int64. The gradient is x / norm(x), and 0 where the norm is 0.
Tensor norm(const Arg& x);
Tensor norm(const Arg& x, const Axes& axes, bool keep_dims = false);

// log(sum(e^x)); not int64. The maximum is subtracted first, so that nothing overflows. Throws Error for an axis
// without elements.
Tensor logsumexp(const Arg& x);
Tensor logsumexp(const Arg& x, const Axes& axes, bool keep_dims = false);

// Each element becomes the sum of the elements up to it along an axis. The sum is int64 for bool; float32 is added in
// float64. Differentiable.
Tensor cumsum(const Arg& x, int axis);

// The sum, on `device`, of tensors of one shape and type that lie on any devices: ((inputs[0] + inputs[1]) + …), always
// in this order and therefore always with the same bits. Each input gets its gradient on its own device. Throws Error
// without inputs, for shapes or types that differ, and if there is no such device.
Tensor reduce_add(TensorList inputs, Device device, Location where = Location::current());

}  // namespace asyncgrad
