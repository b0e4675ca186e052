// Copies and conversions. Tensor's members of the same names do the same. All are queued and may wait for room.
//
// Operations in place (`+=`, `-=`, `*=`, `/=`, copy_, fill_, and assign in shape.h) write values that every handle of the
// tensor sees, and every tensor that shares its storage. The target keeps its shape and type: the source of `+=` and the
// other operators is broadcast to it, the source of copy_ has the same shape. They are differentiable: the operators and
// assign continue the target's history, copy_ and fill_ begin a new one. They throw Error at the call
//   - for a leaf whose gradient is wanted, outside of NoGrad;
//   - for a slice or a reshaped tensor, outside of NoGrad, if it or the source has a history, because the history of
//     the tensor that it was taken from would not contain the operation. Where no other tensor shares the storage any
//     more, as in Tensor y = matmul(x, w).reshape({-1}), y is written as any other.
// If another operation has saved the target for its gradient, backward() throws and names both.
//
// A slice or reshaped tensor with a history throws Error when it is used, outside of NoGrad, after its storage has been
// written: take it again. One without a history does so after its storage has been written by an operation that is
// recorded.
#pragma once

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// A copy with its own storage. This and the conversions are differentiable.
Tensor clone(const Arg& x);
// x in another type, or x itself if it has that type already. A conversion to an integer type has no gradient; it cuts
// fractions off, and turns floating numbers that do not fit into the nearest integer that does, and NaN into 0. A
// conversion of integers keeps the low bits, as in C and NumPy. In a conversion to bool everything except 0 becomes
// true. bfloat16 is rounded from float32.
Tensor to(const Arg& x, DType dtype);
// x on another device, or x itself if it is there already. Throws Error if there is no such device.
Tensor to(const Arg& x, Device device);

}  // namespace asyncgrad
