// Elementwise functions. Inputs are broadcast against each other as in numpy: shapes are aligned at their last axes,
// and axes that are missing or have the extent 1 are repeated. Gradients are summed over the axes that were repeated.
//
// All are queued and may wait for room in the queue. They throw Error at the call for shapes that do not broadcast, for
// types or devices that differ, for a number that the tensor's type cannot hold, and for int64 where it says so.
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

// These have one parameter and no overloads, so that each can be passed as an activation. sigmoid, tanh, exp, log and
// sqrt: not int64.
Tensor relu(const Arg& x);     // max(x, 0); gradient 0 at 0
Tensor sigmoid(const Arg& x);  // 1 / (1 + e^-x)
Tensor tanh(const Arg& x);
Tensor exp(const Arg& x);
Tensor log(const Arg& x);
Tensor square(const Arg& x);
Tensor sqrt(const Arg& x);
Tensor abs(const Arg& x);  // gradient 0 at 0

// x^y; not int64. The gradient in x is 0 where y is 0, and the gradient in y is 0 where x is 0.
Tensor pow(const Arg& x, const Arg& y);
Tensor pow(const Arg& x, const Scalar& y);

// NaN where x or y is NaN. The gradient goes to the one that is chosen; where both are equal each gets half of it,
// where one is NaN neither gets any.
Tensor maximum(const Arg& x, const Arg& y);
Tensor maximum(const Arg& x, const Scalar& y);
Tensor minimum(const Arg& x, const Arg& y);
Tensor minimum(const Arg& x, const Scalar& y);

// 1 where the relation holds, else 0, in the type of the inputs. Not differentiable: results require no gradient.
Tensor equal(const Arg& x, const Arg& y);
Tensor equal(const Arg& x, const Scalar& y);
Tensor less(const Arg& x, const Arg& y);
Tensor less(const Arg& x, const Scalar& y);
Tensor greater(const Arg& x, const Arg& y);
Tensor greater(const Arg& x, const Scalar& y);

// x where the condition is not 0, else y. All three have one type.
Tensor where(const Arg& condition, const Arg& x, const Arg& y);

// (x - y)^2 / 2; not int64.
Tensor half_squared_error(const Arg& x, const Arg& y);

}  // namespace asyncgrad
