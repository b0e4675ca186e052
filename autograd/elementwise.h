// Elementwise functions. Inputs are broadcast against each other as in numpy: shapes are aligned at their last axes,
// and axes that are missing or have the extent 1 are repeated. Gradients are summed over the axes that were repeated.
//
// All inputs have one type, except that bool takes the type of the others: x * (x > 0). Beside a number bool becomes
// int64 if the number is an integer, otherwise the default type: 1 - mask. There is no other promotion. Two tensors of
// bool have only comparisons, logical operations and where.
//
// All are queued and may wait for room in the queue. They throw Error at the call for shapes that do not broadcast, for
// types or devices that differ, for a number that the tensor's type cannot hold, and for int64 where noted. Floating
// types round every integer.
#pragma once

#include <span>

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
Tensor sinh(const Arg& x);       // (e^x - e^-x) / 2
Tensor cosh(const Arg& x);       // (e^x + e^-x) / 2
Tensor log2(const Arg& x);       // the logarithm for base 2, exact for powers of 2
Tensor log10(const Arg& x);      // the logarithm for base 10, exact for powers of 10 that the type holds
Tensor silu(const Arg& x);       // x sigmoid(x)
Tensor softplus(const Arg& x);   // log(1 + e^x)
Tensor gelu(const Arg& x);       // x (1 + erf(x / sqrt(2))) / 2
Tensor gelu_tanh(const Arg& x);  // x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, which is close to gelu
Tensor hardswish(const Arg& x);  // x clip(x + 3, 0, 6) / 6; gradient 0 at -3 and 1 at 3
Tensor selu(const Arg& x);       // 1.0507 elu(x, 1.6733) (Klambauer et al. 2017, "Self-Normalizing Neural Networks")
Tensor softsign(const Arg& x);   // x / (1 + |x|)
Tensor mish(const Arg& x);       // x tanh(softplus(x)) (Misra 2019)
// With the default parameter; the overloads below take another.
inline constexpr double leaky_relu_slope = 0.01, elu_scale = 1;
Tensor leaky_relu(const Arg& x);  // x, or leaky_relu_slope x where x < 0
Tensor elu(const Arg& x);         // x, or elu_scale (e^x - 1) where x < 0
// Not differentiable: results require no gradient.
Tensor floor(const Arg& x);
Tensor round(const Arg& x);  // to the nearest integer, halves to the even one
Tensor sign(const Arg& x);   // -1, 0 or 1; NaN for NaN

// x, or slope x where x < 0; gradient `slope` at 0; not int64. With a slope that is learned it is PReLU (He et al. 2015,
// "Delving Deep into Rectifiers"). Throws Error for a number that is not finite; elu, too.
Tensor leaky_relu(const Arg& x, const Scalar& slope);
Tensor leaky_relu(const Arg& x, const Arg& slope);
// x, or scale (e^x - 1) where x < 0; gradient `scale` at 0; not int64.
Tensor elu(const Arg& x, const Scalar& scale);
Tensor elu(const Arg& x, const Arg& scale);

// x where low <= x <= high, otherwise the nearer bound; NaN for NaN. The gradient is that of x where x is kept and 0
// elsewhere. Throws Error unless low <= high.
Tensor clip(const Arg& x, const Scalar& low, const Scalar& high);

// Division that rounds down, as Python's and NumPy's // and %: x is floor_divide(x, y) * y + remainder(x, y), and the
// remainder has the sign of y. Where y is 0, floating numbers have the quotient x / y and the remainder NaN, and both
// are 0 for int64. The gradient of the remainder is 1 in x and the negative quotient in y. Quotients have no gradient.
Tensor floor_divide(const Arg& x, const Arg& y);
Tensor floor_divide(const Arg& x, const Scalar& y);
Tensor remainder(const Arg& x, const Arg& y);
Tensor remainder(const Arg& x, const Scalar& y);

// x^y. The gradient in x is 0 where y is 0, and the gradient in y is 0 where x is 0. For the numbers 2, 3, 0.5, -0.5
// and -1 the result has the bits of square(x), x * (x * x), sqrt(x), rsqrt(x) and 1 / x, and is as fast, except that
// roots of -0 and -infinity are positive. For int64 the result is x^y modulo 2^64, or 1 / x^-y without its fraction if
// y < 0.
Tensor pow(const Arg& x, const Arg& y);
Tensor pow(const Arg& x, const Scalar& y);

// sqrt(x^2 + y^2) without overflow in between; not int64. Infinite where x or y is infinite, even if the other one is
// NaN.
Tensor hypot(const Arg& x, const Arg& y);
Tensor hypot(const Arg& x, const Scalar& y);

// NaN where x or y is NaN. The gradient goes to the input that is chosen. Where both are equal, each gets half of it,
// and where one is NaN, neither gets any.
Tensor maximum(const Arg& x, const Arg& y);
Tensor maximum(const Arg& x, const Scalar& y);
Tensor minimum(const Arg& x, const Arg& y);
Tensor minimum(const Arg& x, const Scalar& y);

// Whether the relation holds, as bool. With NaN only != holds. Not differentiable: results require no gradient.
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
// The operators do the same. They compare elements; x.impl() == y.impl() compares handles.
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

// As bool, not differentiable. Every number except 0 is true, including NaN. The operators throw Error for types other
// than bool.
Tensor logical_not(const Arg& x);
Tensor logical_and(const Arg& x, const Arg& y);
Tensor logical_or(const Arg& x, const Arg& y);
Tensor logical_xor(const Arg& x, const Arg& y);
Tensor operator!(const Arg& x);
Tensor operator~(const Arg& x);
Tensor operator&(const Arg& x, const Arg& y);
Tensor operator|(const Arg& x, const Arg& y);
Tensor operator^(const Arg& x, const Arg& y);

// x where the condition is not 0, otherwise y. x and y have the same type, which a number takes from the other one. The
// condition is bool or has that type, too.
Tensor where(const Arg& condition, const Arg& x, const Arg& y);
Tensor where(const Arg& condition, const Arg& x, const Scalar& y);
Tensor where(const Arg& condition, const Scalar& x, const Arg& y);

// Losses are made of these (nn/losses.h); not int64.
Tensor half_squared_error(const Arg& x, const Arg& y);  // (x - y)^2 / 2
Tensor absolute_error(const Arg& x, const Arg& y);      // |x - y|; gradient 0 where they are equal
// x^2 / 2, or delta (|x| - delta / 2) where |x| > delta (Huber 1964). Throws Error for a number that is not positive.
Tensor huber(const Arg& x, const Scalar& delta);
Tensor huber(const Arg& x, const Arg& delta);
// log(1 + e^x) - x y: the cross-entropy of a probability y and sigmoid(x).
Tensor logistic_loss(const Arg& x, const Arg& y);
// y (log y - x), and 0 where y is 0: a term of the divergence from a probability e^x to y.
Tensor divergence(const Arg& x, const Arg& y);

// A function of one tensor.
struct ElementwiseFunction {
  const char* name;
  Tensor (*function)(const Arg&);
  const char* computes;  // for a reader
  bool has_int64, is_differentiable, gives_bool;
};
// The functions of this header by name, for Python's functions and for activations that are chosen by name.
std::span<const ElementwiseFunction> elementwise_functions();

// A function of two tensors.
struct BinaryElementwiseFunction {
  const char* name;
  Tensor (*function)(const Arg&, const Arg&);
  Tensor (*beside_number)(const Arg&, const Scalar&);  // the same of a tensor and a number; null: there is none
  const char* computes;                                // for a reader
  bool has_int64, is_differentiable, gives_bool;
};
// Those that this header declares and that are no operators or losses, by their names: Python's functions.
std::span<const BinaryElementwiseFunction> binary_elementwise_functions();

}  // namespace asyncgrad
