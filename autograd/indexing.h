// Selection by index. All are queued and may wait for room; all but one_hot are differentiable.
// Indices are int64; int32 and uint8 are converted to it. What waits for values is in selection.h.
//
// All throw Error at the call for shapes, axes and types that do not fit, for devices that differ, and for indices into
// an axis without elements. The values of indices are known later, so the wait throws Error for an index out of range.
// A GPU does not check indices: for an index out of range the result is NaN (the lowest number for int64, 0 for
// one_hot), and what would be added or written there is dropped.
#pragma once

#include "asyncgrad/autograd/tensor_list.h"
#include "asyncgrad/core/scalar.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// Rows of x, or its elements along another axis, in the order of the indices: x (A, R, B) along axis 1, indices (K, L)
// -> (A, K, L, B). Indices have any number of axes; the result has at most six. Indices in [0, R). Throws Error if x
// has no axis.
Tensor take(const Arg& x, const Arg& indices, int axis = 0);

// result[a, k, b] = x[a, indices[a, k, b], b]: x (A, R, B) along axis 1, indices (A, K, B) -> (A, K, B), and likewise
// for other axes: the shapes differ along `axis` alone. Indices in [0, R). (numpy.take_along_axis, torch.gather.)
Tensor gather(const Arg& x, const Arg& indices, int axis);

// x, with source[a, k, b] added at [a, indices[a, k, b], b], in the order of k: x (A, R, B) along axis 1, indices and
// source (A, K, B) -> (A, R, B), and likewise for other axes. Indices in [0, R). Differentiable in x and source.
Tensor scatter_add(const Arg& x, const Arg& indices, const Arg& source, int axis);

// x, with source[a, k, b] added at [a, indices[k], b], in the order of k: x (A, R, B) along axis 1, indices (K), source
// (A, K, B) -> (A, R, B), and likewise for other axes. Indices in [0, R). Differentiable in x and source.
Tensor index_add(const Arg& x, const Arg& indices, const Arg& source, int axis);

// In place: values[k] becomes the element of x at indices[k], where x's elements are numbered in their order; where
// indices are equal, the last one stays. Indices, in [0, numel), and values have one shape. Like `+=`, it is recorded as a
// part of x's history, and throws Error as `+=` does, see copy.h. On a GPU it uses up to 32 bytes of scratch memory
// for each index. (numpy.put.)
void put(const Tensor& x, const Arg& indices, const Arg& values);

// The places of elements in a tensor of `shape` whose elements are numbered in their order. Their indices along each
// axis are a tensor each, and are broadcast to one shape, that of the result, in int64. An index below 0 counts from the
// end: indices along an axis of R elements in [-R, R). Not differentiable. Throws Error unless there is an index for
// each axis of the shape, at least one. (numpy.ravel_multi_index.)
Tensor ravel_multi_index(TensorList indices, const Shape& shape, Location where = Location::current());

// 1 at the index, else 0: indices (…) in [0, classes) -> (…, classes) of type `dtype`. Not differentiable.
Tensor one_hot(const Arg& indices, std::int64_t classes, DType dtype = default_dtype());

// `value` where the mask is not 0, else x. The mask is broadcast to x's shape and is bool or has x's type. Throws Error
// if x's type cannot hold `value`.
Tensor masked_fill(const Arg& x, const Arg& mask, const Scalar& value);

}  // namespace asyncgrad
