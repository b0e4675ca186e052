// The operators that write into a tensor.
#include "asyncgrad/autograd/elementwise/apply.h"

namespace asyncgrad {

namespace {

namespace f = formulas;

template <class Formula>
void in_place(const char* operation, const Tensor& x, const Arg& y) {
  detail::checked_impl(x, operation);
  detail::apply_in_place(operation, f::id<Formula>(), x, y, y.where());
}

template <class Formula>
void in_place(const char* operation, const Tensor& x, const Scalar& y) {
  const CallSite site(y.where());
  const DType dtype = detail::checked_impl(x, operation).dtype;
  detail::apply_in_place(operation, f::id<Formula>(), x, detail::number_in(dtype, y, operation), y.where());
}

}  // namespace

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
Tensor& Tensor::operator/=(const Arg& other) {
  in_place<f::Divide>("/=", *this, other);
  return *this;
}
Tensor& Tensor::operator/=(const Scalar& value) {
  in_place<f::Divide>("/=", *this, value);
  return *this;
}

}  // namespace asyncgrad
