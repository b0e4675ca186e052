// Functions of each element. All inputs are broadcast against each other as in numpy: shapes are aligned at their last
// axes, and axes of extent 1 or missing ones are repeated. Gradients are summed back over what was repeated.
//
// All are queued and do not block. They throw Error at the call for shapes that do not broadcast, for types or devices
// that differ, for a number that the tensor's type cannot hold, and for int64 where an operation has no form for it.
#pragma once

#include "asyncgrad/core/scalar.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

Tensor operator+(const Arg& x, const Arg& y);
Tensor operator+(const Arg& x, const Scalar& y);
Tensor operator+(const Scalar& x, const Arg& y);
Tensor operator-(const Arg& x, const Arg& y);
Tensor operator-(const Arg& x, const Scalar& y);
Tensor operator-(const Scalar& x, const Arg& y);
Tensor operator*(const Arg& x, const Arg& y);
Tensor operator*(const Arg& x, const Scalar& y);
Tensor operator*(const Scalar& x, const Arg& y);
Tensor operator/(const Arg& x, const Arg& y);  // not int64
Tensor operator/(const Arg& x, const Scalar& y);
Tensor operator/(const Scalar& x, const Arg& y);
Tensor operator-(const Arg& x);

// One parameter, no overloads: each also serves as an activation. sigmoid, tanh, exp, log, sqrt: not int64.
Tensor relu(const Arg& x);     // max(x, 0); gradient 0 at 0
Tensor sigmoid(const Arg& x);  // 1 / (1 + e^-x)
Tensor tanh(const Arg& x);
Tensor exp(const Arg& x);
Tensor log(const Arg& x);
Tensor square(const Arg& x);
Tensor sqrt(const Arg& x);
Tensor abs(const Arg& x);  // gradient 0 at 0

// x^y; not int64. The gradient in x is 0 where y is 0, that in y is 0 where x is 0.
Tensor pow(const Arg& x, const Arg& y);
Tensor pow(const Arg& x, const Scalar& y);

// NaN where either is. The larger or smaller one gets the gradient; where both are equal each gets half of it, where
// one is NaN neither gets any.
Tensor maximum(const Arg& x, const Arg& y);
Tensor maximum(const Arg& x, const Scalar& y);
Tensor minimum(const Arg& x, const Arg& y);
Tensor minimum(const Arg& x, const Scalar& y);

// 1 where it holds, else 0, in the type of the inputs. Not differentiable: the results want no gradient.
Tensor equal(const Arg& x, const Arg& y);
Tensor equal(const Arg& x, const Scalar& y);
Tensor less(const Arg& x, const Arg& y);
Tensor less(const Arg& x, const Scalar& y);
Tensor greater(const Arg& x, const Arg& y);
Tensor greater(const Arg& x, const Scalar& y);

// x where the condition is not 0, else y. All three of one type.
Tensor where(const Arg& condition, const Arg& x, const Arg& y);

// (x - y)^2 / 2; not int64.
Tensor half_squared_error(const Arg& x, const Arg& y);

}  // namespace asyncgrad
