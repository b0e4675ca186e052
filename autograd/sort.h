// The order of the elements along an axis. NaN counts as the largest, and equal elements stay in their order.
//
// All are queued and may wait for room. They take float32, float64 and int64, and throw Error at the call for other types
// and for an axis that x lacks. They use up to 16 bytes of scratch memory for each element of a line; on a GPU none for
// lines of up to 1,024 elements, and up to 32 bytes for each element of all longer lines.
#pragma once

#include <cstdint>

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

struct SortOptions {
  int axis = -1;
  bool descending = false;
};
// The places of the elements in their order, in int64 and x's shape. Not differentiable.
Tensor argsort(const Arg& x, const SortOptions& options = {});
struct SortResult {
  Tensor values, indices;  // gather(x, indices, axis) gives the values
};
// Differentiable in the values.
SortResult sort(const Arg& x, const SortOptions& options = {});
struct TopkOptions {
  int axis = -1;
  bool largest = true;  // else the smallest
};
// The first `count` elements of that order, the largest first: x (A, R, B) along axis 1 -> (A, count, B). Throws Error
// unless 0 <= count <= R.
SortResult topk(const Arg& x, std::int64_t count, const TopkOptions& options = {});

}  // namespace asyncgrad
