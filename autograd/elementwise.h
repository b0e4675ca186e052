// Elementwise functions. Inputs are broadcast against each other as in numpy: shapes are aligned at their last axes,
// and axes that are missing or have the extent 1 are repeated. Gradients are summed over the axes that were repeated.
//
// All have one type, but that bool takes the type of the others: x * (x > 0). Beside a number it becomes int64 if the
// number is an integer, else float32: 1 - mask. That is the only promotion; two tensors of bool have comparisons,
// logical operations and where alone.
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

// These have one parameter and no overloads, so that each can be passed as an activation. int64 has relu, square, abs,
// floor, round and sign.
Tensor relu(const Arg& x);     // max(x, 0); gradient 0 at 0
Tensor sigmoid(const Arg& x);  // 1 / (1 + e^-x)
Tensor tanh(const Arg& x);
Tensor exp(const Arg& x);
Tensor log(const Arg& x);
Tensor square(const Arg& x);
Tensor sqrt(const Arg& x);
Tensor abs(const Arg& x);    // gradient 0 at 0
Tensor rsqrt(const Arg& x);  // 1 / sqrt(x)
Tensor sin(const Arg& x);    // x in radians
Tensor cos(const Arg& x);
Tensor erf(const Arg& x);        // 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x
Tensor log1p(const Arg& x);      // log(1 + x), accurate near 0
Tensor expm1(const Arg& x);      // e^x - 1, accurate near 0
Tensor silu(const Arg& x);       // x sigmoid(x)
Tensor softplus(const Arg& x);   // log(1 + e^x)
Tensor gelu(const Arg& x);       // x (1 + erf(x / sqrt(2))) / 2
Tensor gelu_tanh(const Arg& x);  // x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, which is close to gelu
// Not differentiable: results require no gradient.
Tensor floor(const Arg& x);
Tensor round(const Arg& x);  // to the nearest integer, halves to the even one
Tensor sign(const Arg& x);   // -1, 0 or 1; NaN for NaN

// x where low <= x <= high, else the bound that it is beyond; NaN for NaN. The gradient is that of x where x is kept
// and 0 elsewhere. Throws Error unless low <= high.
Tensor clip(const Arg& x, const Scalar& low, const Scalar& high);

// x^y; not int64. The gradient in x is 0 where y is 0, and the gradient in y is 0 where x is 0. For the numbers 2, 3,
// 0.5, -0.5 and -1 the result has the bits of square(x), x * (x * x), sqrt(x), rsqrt(x) and 1 / x, and is as fast.
Tensor pow(const Arg& x, const Arg& y);
Tensor pow(const Arg& x, const Scalar& y);

// NaN where x or y is NaN. The gradient goes to the one that is chosen; where both are equal each gets half of it,
// where one is NaN neither gets any.
Tensor maximum(const Arg& x, const Arg& y);
Tensor maximum(const Arg& x, const Scalar& y);
Tensor minimum(const Arg& x, const Arg& y);
Tensor minimum(const Arg& x, const Scalar& y);

// Whether the relation holds, as bool; with NaN none holds but !=. Not differentiable: results require no gradient.
Tensor equal(const Arg& x, const Arg& y);
Tensor equal(const Arg& x, const Scalar& y);
Tensor not_equal(const Arg& x, const Arg& y);
Tensor not_equal(const Arg& x, const Scalar& y);
Tensor less(const Arg& x, const Arg& y);
Tensor less(const Arg& x, const Scalar& y);
Tensor less_equal(const Arg& x, const Arg& y);
Tensor less_equal(const Arg& x, const Scalar& y);
Tensor greater(const Arg& x, const Arg& y);
Tensor greater(const Arg& x, const Scalar& y);
Tensor greater_equal(const Arg& x, const Arg& y);
Tensor greater_equal(const Arg& x, const Scalar& y);
// The same. They compare elements: whether two handles are of the same tensor x.impl() == y.impl() tells.
Tensor operator==(const Arg& x, const Arg& y);
Tensor operator==(const Arg& x, const Scalar& y);
Tensor operator==(const Scalar& x, const Arg& y);
Tensor operator!=(const Arg& x, const Arg& y);
Tensor operator!=(const Arg& x, const Scalar& y);
Tensor operator!=(const Scalar& x, const Arg& y);
Tensor operator<(const Arg& x, const Arg& y);
Tensor operator<(const Arg& x, const Scalar& y);
Tensor operator<(const Scalar& x, const Arg& y);
Tensor operator<=(const Arg& x, const Arg& y);
Tensor operator<=(const Arg& x, const Scalar& y);
Tensor operator<=(const Scalar& x, const Arg& y);
Tensor operator>(const Arg& x, const Arg& y);
Tensor operator>(const Arg& x, const Scalar& y);
Tensor operator>(const Scalar& x, const Arg& y);
Tensor operator>=(const Arg& x, const Arg& y);
Tensor operator>=(const Arg& x, const Scalar& y);
Tensor operator>=(const Scalar& x, const Arg& y);

// As bool, not differentiable. Infinities are not finite.
Tensor isnan(const Arg& x);
Tensor isfinite(const Arg& x);

// As bool, not differentiable. Every number but 0 is true, NaN, too; the operators throw Error for other types than
// bool.
Tensor logical_not(const Arg& x);
Tensor logical_and(const Arg& x, const Arg& y);
Tensor logical_or(const Arg& x, const Arg& y);
Tensor logical_xor(const Arg& x, const Arg& y);
Tensor operator!(const Arg& x);
Tensor operator~(const Arg& x);
Tensor operator&(const Arg& x, const Arg& y);
Tensor operator|(const Arg& x, const Arg& y);
Tensor operator^(const Arg& x, const Arg& y);

// x where the condition, which is bool or a number, is not 0, else y. x and y have one type, and so has a condition
// that is not bool.
Tensor where(const Arg& condition, const Arg& x, const Arg& y);

// (x - y)^2 / 2; not int64.
Tensor half_squared_error(const Arg& x, const Arg& y);

}  // namespace asyncgrad
