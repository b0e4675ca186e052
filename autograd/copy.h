// Copies and conversions; the members of Tensor of the same names do the same.
//
// What is written in place (`+=`, `-=`, `*=`, copy_, fill_) is seen by every handle of the tensor and by all that share
// its storage. The target keeps its shape and type: the source of `+=`, `-=`, `*=` is broadcast to it, that of copy_
// has the same shape. They are differentiable: the target's history goes on with the operation (copy_ and fill_ begin a
// new one). They throw Error at the call for
//   - a leaf whose gradient is wanted, outside of NoGrad;
//   - a slice or a reshaped tensor, if it or the source has a history, outside of NoGrad: the tensor that it was taken
//     from would not know;
//   - a tensor that another operation has saved for its gradient: at backward(), which names both.
// A slice or reshaped tensor with a history cannot be used any more once its storage has been written: take it again.
// So it is with one without, once its storage has been written with a history.
#pragma once

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// A copy with its own storage. Differentiable, as all of these.
Tensor clone(const Arg& x);
// Converted; the same tensor if it has that type already. In int64, which has no gradient, fractions are cut off, what
// does not fit becomes the nearest number that does, and NaN 0.
Tensor to(const Arg& x, DType dtype);
// On another device; the same tensor if it is there already. Throws Error if there is no such device.
Tensor to(const Arg& x, Device device);

}  // namespace asyncgrad
