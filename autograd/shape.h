// The same values in another order or shape.
//
// Tensors are contiguous. reshape, squeeze, unsqueeze, x[i] and leading rows (slice of the first axis with a step of 1,
// split of the first axis) share storage with x and queue nothing. All other functions copy by one operation, which is
// queued and may wait for room. Negative axes count from the end, and so do negative positions.
//
// All are differentiable, take every type, and throw Error at the call for shapes, axes and positions that do not fit,
// and for tensors whose types or devices differ. Gradients of slices and of rows are added to one buffer: T slices of
// one tensor cost no more than their elements and one tensor of zeros.
#pragma once

#include <cstdint>
#include <vector>

#include "asyncgrad/autograd/reduce.h"
#include "asyncgrad/autograd/tensor_list.h"
#include "asyncgrad/core/scalar.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// --- They share storage.

// The elements in the same order. One extent may be -1, which stands for the remaining elements. Throws Error unless
// the numbers of elements are equal.
Tensor reshape(const Arg& x, const NewShape& shape);
// Rows [begin, end) of the first axis. x[i], a member of Tensor, is row i without that axis.
Tensor slice(const Arg& x, std::int64_t begin, std::int64_t end);
// Without the axes of extent 1, or without the given ones, which must have it.
Tensor squeeze(const Arg& x);
Tensor squeeze(const Arg& x, const Axes& axes);
// With one more axis, of extent 1; `axis` is its place in the result.
Tensor unsqueeze(const Arg& x, int axis);

// --- They copy.

// Axis i of the result is axis axes[i] of x: (A, B, C) with {2, 0, 1} -> (C, A, B). Every axis is named once.
Tensor permute(const Arg& x, const Axes& axes);
// Two axes exchanged. (matmul reads transposed operands without a copy.)
Tensor transpose(const Arg& x, int axis_a = -2, int axis_b = -1);
// The elements begin, begin + step, … before `end` of an axis; step >= 1. Shares storage for the first axis and a step
// of 1.
Tensor slice(const Arg& x, int axis, std::int64_t begin, std::int64_t end, std::int64_t step = 1);
// The elements of the axes in the opposite order.
Tensor flip(const Arg& x, const Axes& axes);
// x repeated to `shape`, as elementwise operations do: shapes are aligned at their last axes, and axes that are missing
// or have the extent 1 are repeated.
Tensor expand(const Arg& x, const Shape& shape);
// x repeated repeats[i] times along axis i, as a whole: (A, B) with {2, 3} -> (2 A, 3 B). As in numpy.tile, leading
// ones are added to the shorter one of x's shape and `repeats`.
Tensor tile(const Arg& x, const Shape& repeats);

// How many elements are added before and after those of an axis.
struct Padding {
  std::int64_t before = 0, after = 0;
};
// x with `value` around it, for each axis in turn: (A, B) with {{1, 1}, {0, 2}} -> (A + 2, B + 2). Throws Error, too,
// if x's type cannot hold `value`.
Tensor pad(const Arg& x, const std::vector<Padding>& padding, const Scalar& value = 0);

// The tensors one after another along an axis that they have; the other extents are equal: (A, B), (A, C) along axis 1
// -> (A, B + C). Throws Error without tensors.
Tensor concat(TensorList tensors, int axis = 0, Location where = Location::current());
// Tensors of one shape side by side along an axis of their own: K times (A, B) along axis 1 -> (A, K, B). Throws Error
// without tensors.
Tensor stack(TensorList tensors, int axis = 0, Location where = Location::current());
// x cut along an axis into parts of these extents, which add up to x's; or into `count` equal parts. Parts share
// storage if the axis is the first.
std::vector<Tensor> split(const Arg& x, const std::vector<std::int64_t>& sizes, int axis = 0);
std::vector<Tensor> split(const Arg& x, std::int64_t count, int axis = 0);

// --- In place.

// The elements begin, begin + step, … before `end` of an axis.
struct Slice {
  int axis = 0;
  std::int64_t begin = 0, end = 0, step = 1;
};
// Writes `value`, broadcast to their shape, to the elements of x that lie in all slices; axes without a slice are
// whole: `assign(x, {{1, 0, 3}}, 0)`. Like `+=`, it is recorded as a part of x's history, and throws Error as `+=`
// does, see copy.h.
void assign(const Tensor& x, const std::vector<Slice>& slices, const Arg& value);
void assign(const Tensor& x, const std::vector<Slice>& slices, const Scalar& value);

}  // namespace asyncgrad
