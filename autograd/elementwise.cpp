#include "asyncgrad/autograd/elementwise.h"

#include <array>

#include "asyncgrad/autograd/apply.h"

namespace asyncgrad {

namespace {

namespace f = formulas;
using detail::Input;

template <class Formula>
Tensor unary(const Arg& x) {
  const std::array<Input, 1> inputs = {x};
  return detail::apply(f::id<Formula>(), inputs, x.where());
}

template <class Formula>
Tensor binary(const Arg& x, const Arg& y) {
  const std::array<Input, 2> inputs = {x, y};
  return detail::apply(f::id<Formula>(), inputs, x.where());
}

// The number, in the type of the tensor with which it is combined.
template <class Formula>
Input number(const Scalar& value, const Arg& beside) {
  return detail::number_in(detail::checked_impl(beside, Formula::name).dtype, value, Formula::name);
}

template <class Formula>
Tensor binary(const Arg& x, const Scalar& y) {
  const std::array<Input, 2> inputs = {x, number<Formula>(y, x)};
  return detail::apply(f::id<Formula>(), inputs, x.where());
}

template <class Formula>
Tensor binary(const Scalar& x, const Arg& y) {
  const std::array<Input, 2> inputs = {number<Formula>(x, y), y};
  return detail::apply(f::id<Formula>(), inputs, y.where());
}

template <class Formula>
void in_place(const char* operation, const Tensor& x, const Arg& y) {
  detail::checked_impl(x, operation);
  detail::apply_in_place(operation, f::id<Formula>(), x, y, y.where());
}

template <class Formula>
void in_place(const char* operation, const Tensor& x, const Scalar& y) {
  const DType dtype = detail::checked_impl(x, operation).dtype;
  detail::apply_in_place(operation, f::id<Formula>(), x, detail::number_in(dtype, y, operation), y.where());
}

}  // namespace

Tensor operator+(const Arg& x, const Arg& y) { return binary<f::Add>(x, y); }
Tensor operator+(const Arg& x, const Scalar& y) { return binary<f::Add>(x, y); }
Tensor operator+(const Scalar& x, const Arg& y) { return binary<f::Add>(x, y); }
Tensor operator-(const Arg& x, const Arg& y) { return binary<f::Subtract>(x, y); }
Tensor operator-(const Arg& x, const Scalar& y) { return binary<f::Subtract>(x, y); }
Tensor operator-(const Scalar& x, const Arg& y) { return binary<f::Subtract>(x, y); }
Tensor operator*(const Arg& x, const Arg& y) { return binary<f::Multiply>(x, y); }
Tensor operator*(const Arg& x, const Scalar& y) { return binary<f::Multiply>(x, y); }
Tensor operator*(const Scalar& x, const Arg& y) { return binary<f::Multiply>(x, y); }
Tensor operator/(const Arg& x, const Arg& y) { return binary<f::Divide>(x, y); }
Tensor operator/(const Arg& x, const Scalar& y) { return binary<f::Divide>(x, y); }
Tensor operator/(const Scalar& x, const Arg& y) { return binary<f::Divide>(x, y); }
Tensor operator-(const Arg& x) { return unary<f::Negate>(x); }

Tensor relu(const Arg& x) { return unary<f::Relu>(x); }
Tensor sigmoid(const Arg& x) { return unary<f::Sigmoid>(x); }
Tensor tanh(const Arg& x) { return unary<f::Tanh>(x); }
Tensor exp(const Arg& x) { return unary<f::Exp>(x); }
Tensor log(const Arg& x) { return unary<f::Log>(x); }
Tensor square(const Arg& x) { return unary<f::Square>(x); }
Tensor sqrt(const Arg& x) { return unary<f::Sqrt>(x); }
Tensor abs(const Arg& x) { return unary<f::Abs>(x); }

Tensor pow(const Arg& x, const Arg& y) { return binary<f::Pow>(x, y); }
Tensor pow(const Arg& x, const Scalar& y) { return binary<f::Pow>(x, y); }
Tensor maximum(const Arg& x, const Arg& y) { return binary<f::Maximum>(x, y); }
Tensor maximum(const Arg& x, const Scalar& y) { return binary<f::Maximum>(x, y); }
Tensor minimum(const Arg& x, const Arg& y) { return binary<f::Minimum>(x, y); }
Tensor minimum(const Arg& x, const Scalar& y) { return binary<f::Minimum>(x, y); }
Tensor equal(const Arg& x, const Arg& y) { return binary<f::Equal>(x, y); }
Tensor equal(const Arg& x, const Scalar& y) { return binary<f::Equal>(x, y); }
Tensor less(const Arg& x, const Arg& y) { return binary<f::Less>(x, y); }
Tensor less(const Arg& x, const Scalar& y) { return binary<f::Less>(x, y); }
Tensor greater(const Arg& x, const Arg& y) { return binary<f::Greater>(x, y); }
Tensor greater(const Arg& x, const Scalar& y) { return binary<f::Greater>(x, y); }

Tensor where(const Arg& condition, const Arg& x, const Arg& y) {
  const std::array<Input, 3> inputs = {condition, x, y};
  return detail::apply(f::id<f::Where>(), inputs, condition.where());
}

Tensor half_squared_error(const Arg& x, const Arg& y) { return binary<f::HalfSquaredError>(x, y); }

Tensor& Tensor::operator+=(const Arg& other) {
  in_place<f::Add>("+=", *this, other);
  return *this;
}
Tensor& Tensor::operator+=(const Scalar& value) {
  in_place<f::Add>("+=", *this, value);
  return *this;
}
Tensor& Tensor::operator-=(const Arg& other) {
  in_place<f::Subtract>("-=", *this, other);
  return *this;
}
Tensor& Tensor::operator-=(const Scalar& value) {
  in_place<f::Subtract>("-=", *this, value);
  return *this;
}
Tensor& Tensor::operator*=(const Arg& other) {
  in_place<f::Multiply>("*=", *this, other);
  return *this;
}
Tensor& Tensor::operator*=(const Scalar& value) {
  in_place<f::Multiply>("*=", *this, value);
  return *this;
}

}  // namespace asyncgrad
