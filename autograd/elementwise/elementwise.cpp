#include "asyncgrad/autograd/elementwise.h"

#include <fmt/format.h>

#include <array>

#include "asyncgrad/autograd/elementwise/apply.h"
#include "asyncgrad/autograd/elementwise/derivatives.h"
#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/core/error.h"

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

// 1 or 0 as bool.
template <class Formula>
Tensor predicate(const Arg& x) {
  const std::array<Input, 1> inputs = {x};
  return detail::apply_predicate(f::id<Formula>(), inputs, x.where());
}
template <class Formula>
Tensor predicate(const Arg& x, const Arg& y) {
  const std::array<Input, 2> inputs = {x, y};
  return detail::apply_predicate(f::id<Formula>(), inputs, x.where());
}

// The number, in the type of the tensor with which it is combined.
template <class Formula>
Input number(const Scalar& value, const Arg& beside) {
  return detail::number_in(detail::checked_impl(beside, Formula::name).dtype, value, Formula::name);
}

bool is_bool(const Arg& x, const char* operation) { return detail::checked_impl(x, operation).dtype == DType::boolean; }
// A tensor of bool beside a number, in the number's type: int64 or the default type.
Tensor beside(const Scalar& number, const Arg& x) {
  return x->to(number.is_integer() ? int64 : default_dtype(), x.where());
}

template <class Formula>
Tensor predicate(const Arg& x, const Scalar& y) {
  if (is_bool(x, Formula::name)) return predicate<Formula>(Arg(beside(y, x), x.where()), y);
  const std::array<Input, 2> inputs = {x, number<Formula>(y, x)};
  return detail::apply_predicate(f::id<Formula>(), inputs, x.where());
}

template <class Formula>
Tensor binary(const Arg& x, const Scalar& y) {
  if (is_bool(x, Formula::name)) return binary<Formula>(Arg(beside(y, x), x.where()), y);
  const std::array<Input, 2> inputs = {x, number<Formula>(y, x)};
  return detail::apply(f::id<Formula>(), inputs, x.where());
}

// A function of x with an option, such as a slope, which is a number that makes sense.
template <class Formula>
Tensor with_option(const Arg& x, const char* option, const Scalar& value, decltype(check_finite)* check) {
  check(Formula::name, option, value.as_double());
  if (!is_bool(x, Formula::name)) detail::check_floating(Formula::name, {"x", *x->impl()});
  return binary<Formula>(x, value);
}

template <class Formula>
Tensor binary(const Scalar& x, const Arg& y) {
  if (is_bool(y, Formula::name)) return binary<Formula>(x, Arg(beside(x, y), y.where()));
  const std::array<Input, 2> inputs = {number<Formula>(x, y), y};
  return detail::apply(f::id<Formula>(), inputs, y.where());
}

// The operators are for bool alone, so that they are not mistaken for operators on bits.
const Arg& checked_bool(const char* operation, const Arg& x) {
  if (is_bool(x, operation)) return x;
  throw_error(operation, fmt::format("is for bool, compare with 0 first: x {} {}", name(x->dtype()), x->shape().str()),
              ErrorKind::type);
}

bool is_at_most(const Scalar& low, const Scalar& high) {
  if (low.is_integer() && high.is_integer()) return low.as_int64() <= high.as_int64();
  return low.as_double() <= high.as_double();
}
std::string str(const Scalar& number) {
  return number.is_integer() ? fmt::format("{}", number.as_int64()) : fmt::format("{}", number.as_double());
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

Tensor rsqrt(const Arg& x) { return unary<f::Rsqrt>(x); }
Tensor sin(const Arg& x) { return unary<f::Sin>(x); }
Tensor cos(const Arg& x) { return unary<f::Cos>(x); }
Tensor erf(const Arg& x) { return unary<f::Erf>(x); }
Tensor log1p(const Arg& x) { return unary<f::Log1p>(x); }
Tensor expm1(const Arg& x) { return unary<f::Expm1>(x); }
Tensor sinh(const Arg& x) { return unary<f::Sinh>(x); }
Tensor cosh(const Arg& x) { return unary<f::Cosh>(x); }
Tensor log2(const Arg& x) { return unary<f::Log2>(x); }
Tensor log10(const Arg& x) { return unary<f::Log10>(x); }
Tensor silu(const Arg& x) { return unary<f::Silu>(x); }
Tensor softplus(const Arg& x) { return unary<f::Softplus>(x); }
Tensor gelu(const Arg& x) { return unary<f::Gelu>(x); }
Tensor gelu_tanh(const Arg& x) { return unary<f::GeluTanh>(x); }
Tensor hardswish(const Arg& x) { return unary<f::Hardswish>(x); }
Tensor selu(const Arg& x) { return unary<f::Selu>(x); }
Tensor softsign(const Arg& x) { return unary<f::Softsign>(x); }
Tensor mish(const Arg& x) { return unary<f::Mish>(x); }
Tensor leaky_relu(const Arg& x, const Scalar& slope) {
  return with_option<f::LeakyRelu>(x, "slope", slope, check_finite);
}
Tensor leaky_relu(const Arg& x, const Arg& slope) { return binary<f::LeakyRelu>(x, slope); }
Tensor leaky_relu(const Arg& x) { return leaky_relu(x, Scalar(leaky_relu_slope)); }
Tensor elu(const Arg& x, const Scalar& scale) { return with_option<f::Elu>(x, "scale", scale, check_finite); }
Tensor elu(const Arg& x, const Arg& scale) { return binary<f::Elu>(x, scale); }
Tensor elu(const Arg& x) { return elu(x, Scalar(elu_scale)); }
Tensor floor(const Arg& x) { return unary<f::Floor>(x); }
Tensor round(const Arg& x) { return unary<f::Round>(x); }
Tensor sign(const Arg& x) { return unary<f::Sign>(x); }

namespace {

template <class Formula>
constexpr ElementwiseFunction named(Tensor (*function)(const Arg&), const char* computes) {
  return {.name = Formula::name,
          .function = function,
          .computes = computes,
          .has_int64 = Formula::integers,
          .is_differentiable = detail::is_differentiable(f::id<Formula>()),
          .gives_bool = Formula::is_predicate};
}

template <class Formula>
constexpr BinaryElementwiseFunction named(Tensor (*function)(const Arg&, const Arg&),
                                          Tensor (*beside_number)(const Arg&, const Scalar&), const char* computes) {
  return {.name = Formula::name,
          .function = function,
          .beside_number = beside_number,
          .computes = computes,
          .has_int64 = Formula::integers,
          .is_differentiable = detail::is_differentiable(f::id<Formula>()),
          .gives_bool = Formula::is_predicate};
}

constexpr ElementwiseFunction named_functions[] = {
    named<f::Relu>(relu, "max(x, 0)"),
    named<f::Sigmoid>(sigmoid, "1 / (1 + e^-x)"),
    named<f::Tanh>(tanh, "The hyperbolic tangent."),
    named<f::Exp>(exp, "e^x"),
    named<f::Log>(log, "The natural logarithm."),
    named<f::Square>(square, "x^2"),
    named<f::Sqrt>(sqrt, "The square root."),
    named<f::Abs>(abs, "The absolute value."),
    named<f::Rsqrt>(rsqrt, "1 / sqrt(x)"),
    named<f::Sin>(sin, "The sine of x in radians."),
    named<f::Cos>(cos, "The cosine of x in radians."),
    named<f::Erf>(erf, "The error function."),
    named<f::Log1p>(log1p, "log(1 + x), accurate near 0."),
    named<f::Expm1>(expm1, "e^x - 1, accurate near 0."),
    named<f::Sinh>(sinh, "The hyperbolic sine, accurate near 0."),
    named<f::Cosh>(cosh, "The hyperbolic cosine."),
    named<f::Log2>(log2, "The logarithm for base 2, exact for powers of 2."),
    named<f::Log10>(log10, "The logarithm for base 10."),
    named<f::Silu>(silu, "x sigmoid(x)"),
    named<f::Softplus>(softplus, "log(1 + e^x)"),
    named<f::Gelu>(gelu, "x (1 + erf(x / sqrt(2))) / 2"),
    named<f::GeluTanh>(gelu_tanh, "The approximation of gelu by tanh."),
    named<f::Hardswish>(hardswish, "x clip(x + 3, 0, 6) / 6"),
    named<f::Selu>(selu, "1.0507 elu(x, 1.6733)"),
    named<f::Softsign>(softsign, "x / (1 + |x|)"),
    named<f::Mish>(mish, "x tanh(softplus(x))"),
    named<f::LeakyRelu>(leaky_relu, "x, or 0.01 x where x < 0"),
    named<f::Elu>(elu, "x, or e^x - 1 where x < 0"),
    named<f::Floor>(floor, "The largest integer that is at most x. No gradient."),
    named<f::IsNan>(isnan, "Whether it is NaN, as bool."),
    named<f::IsFinite>(isfinite, "Whether it is neither infinite nor NaN, as bool."),
    named<f::LogicalNot>(logical_not, "Whether it is 0, as bool."),
    named<f::Round>(round, "The nearest integer, halves to the even one. No gradient."),
    named<f::Sign>(sign, "-1, 0 or 1. No gradient."),
};

constexpr BinaryElementwiseFunction named_binary_functions[] = {
    named<f::Maximum>(maximum, maximum, "The larger one of x and y, broadcast against each other."),
    named<f::Minimum>(minimum, minimum, "The smaller one of x and y, broadcast against each other."),
    named<f::FloorDivide>(floor_divide, floor_divide, "x / y, rounded down."),
    named<f::Remainder>(remainder, remainder, "What floor_divide() leaves, with the sign of y."),
    named<f::Hypot>(hypot, hypot, "sqrt(x^2 + y^2) without overflow in between."),
    named<f::Equal>(equal, equal, "Whether x = y, as bool."),
    named<f::NotEqual>(not_equal, not_equal, "Whether x and y differ, as bool."),
    named<f::Less>(less, less, "Whether x < y, as bool."),
    named<f::LessEqual>(less_equal, less_equal, "Whether x <= y, as bool."),
    named<f::Greater>(greater, greater, "Whether x > y, as bool."),
    named<f::GreaterEqual>(greater_equal, greater_equal, "Whether x >= y, as bool."),
    named<f::LogicalAnd>(logical_and, nullptr, "Whether neither is 0, as bool."),
    named<f::LogicalOr>(logical_or, nullptr, "Whether not both are 0, as bool."),
    named<f::LogicalXor>(logical_xor, nullptr, "Whether one of them is 0, as bool."),
};

}  // namespace

std::span<const ElementwiseFunction> elementwise_functions() { return named_functions; }
std::span<const BinaryElementwiseFunction> binary_elementwise_functions() { return named_binary_functions; }

// The table has no gradient for clip, because the gradient of its bounds, which are numbers here, would need a fourth
// argument.
Tensor clip(const Arg& x, const Scalar& low, const Scalar& high) {
  const std::array<Input, 3> inputs = {x, number<f::Clip>(low, x), number<f::Clip>(high, x)};
  if (!is_at_most(low, high)) throw_error("clip", fmt::format("low {} is not at most high {}", str(low), str(high)));
  Tensor y = detail::apply(f::id<f::Clip>(), inputs, x.where());
  if (!detail::records(x)) return y;
  detail::record(detail::Recorded(detail::Op::elementwise).as("clip"), x.where(), y, {x},
                 detail::differentiable([x = detail::SavedTensor(x), y = detail::SavedTensor(y)](
                                            const Tensor& dy, detail::Gradients& gradients) {
                   gradients(0, [&] {
                     const std::array<Input, 3> of_gradient = {gradients.read(x), gradients.read(y), dy};
                     return detail::apply(f::id<f::ClipGrad>(), of_gradient, Location());
                   });
                 }));
  return y;
}

Tensor floor_divide(const Arg& x, const Arg& y) { return binary<f::FloorDivide>(x, y); }
Tensor floor_divide(const Arg& x, const Scalar& y) { return binary<f::FloorDivide>(x, y); }
Tensor remainder(const Arg& x, const Arg& y) { return binary<f::Remainder>(x, y); }
Tensor remainder(const Arg& x, const Scalar& y) { return binary<f::Remainder>(x, y); }
Tensor pow(const Arg& x, const Arg& y) { return binary<f::Pow>(x, y); }
Tensor pow(const Arg& x, const Scalar& y) {
  if (!is_floating(detail::checked_impl(x, "pow").dtype)) return binary<f::Pow>(x, y);
  const double exponent = y.as_double();
  if (exponent == 2) return unary<f::Square>(x);
  if (exponent == 3) return unary<f::Cube>(x);
  if (exponent == 1) return binary<f::Multiply>(x, y);
  if (exponent == 0.5) return unary<f::PowHalf>(x);
  if (exponent == -0.5) return unary<f::PowMinusHalf>(x);
  if (exponent == -1) return binary<f::Divide>(Scalar(1), x);
  return binary<f::Pow>(x, y);
}
Tensor hypot(const Arg& x, const Arg& y) { return binary<f::Hypot>(x, y); }
Tensor hypot(const Arg& x, const Scalar& y) { return binary<f::Hypot>(x, y); }
Tensor maximum(const Arg& x, const Arg& y) { return binary<f::Maximum>(x, y); }
Tensor maximum(const Arg& x, const Scalar& y) { return binary<f::Maximum>(x, y); }
Tensor minimum(const Arg& x, const Arg& y) { return binary<f::Minimum>(x, y); }
Tensor minimum(const Arg& x, const Scalar& y) { return binary<f::Minimum>(x, y); }
Tensor equal(const Arg& x, const Arg& y) { return predicate<f::Equal>(x, y); }
Tensor equal(const Arg& x, const Scalar& y) { return predicate<f::Equal>(x, y); }
Tensor not_equal(const Arg& x, const Arg& y) { return predicate<f::NotEqual>(x, y); }
Tensor not_equal(const Arg& x, const Scalar& y) { return predicate<f::NotEqual>(x, y); }
Tensor less(const Arg& x, const Arg& y) { return predicate<f::Less>(x, y); }
Tensor less(const Arg& x, const Scalar& y) { return predicate<f::Less>(x, y); }
Tensor less_equal(const Arg& x, const Arg& y) { return predicate<f::LessEqual>(x, y); }
Tensor less_equal(const Arg& x, const Scalar& y) { return predicate<f::LessEqual>(x, y); }
Tensor greater(const Arg& x, const Arg& y) { return predicate<f::Greater>(x, y); }
Tensor greater(const Arg& x, const Scalar& y) { return predicate<f::Greater>(x, y); }
Tensor greater_equal(const Arg& x, const Arg& y) { return predicate<f::GreaterEqual>(x, y); }
Tensor greater_equal(const Arg& x, const Scalar& y) { return predicate<f::GreaterEqual>(x, y); }

Tensor operator==(const Arg& x, const Arg& y) { return equal(x, y); }
Tensor operator==(const Arg& x, const Scalar& y) { return equal(x, y); }
Tensor operator==(const Scalar& x, const Arg& y) { return equal(y, x); }
Tensor operator!=(const Arg& x, const Arg& y) { return not_equal(x, y); }
Tensor operator!=(const Arg& x, const Scalar& y) { return not_equal(x, y); }
Tensor operator!=(const Scalar& x, const Arg& y) { return not_equal(y, x); }
Tensor operator<(const Arg& x, const Arg& y) { return less(x, y); }
Tensor operator<(const Arg& x, const Scalar& y) { return less(x, y); }
Tensor operator<(const Scalar& x, const Arg& y) { return greater(y, x); }
Tensor operator<=(const Arg& x, const Arg& y) { return less_equal(x, y); }
Tensor operator<=(const Arg& x, const Scalar& y) { return less_equal(x, y); }
Tensor operator<=(const Scalar& x, const Arg& y) { return greater_equal(y, x); }
Tensor operator>(const Arg& x, const Arg& y) { return greater(x, y); }
Tensor operator>(const Arg& x, const Scalar& y) { return greater(x, y); }
Tensor operator>(const Scalar& x, const Arg& y) { return less(y, x); }
Tensor operator>=(const Arg& x, const Arg& y) { return greater_equal(x, y); }
Tensor operator>=(const Arg& x, const Scalar& y) { return greater_equal(x, y); }
Tensor operator>=(const Scalar& x, const Arg& y) { return less_equal(y, x); }

Tensor isnan(const Arg& x) { return predicate<f::IsNan>(x); }
Tensor isfinite(const Arg& x) { return predicate<f::IsFinite>(x); }
Tensor logical_not(const Arg& x) { return predicate<f::LogicalNot>(x); }
Tensor logical_and(const Arg& x, const Arg& y) { return predicate<f::LogicalAnd>(x, y); }
Tensor logical_or(const Arg& x, const Arg& y) { return predicate<f::LogicalOr>(x, y); }
Tensor logical_xor(const Arg& x, const Arg& y) { return predicate<f::LogicalXor>(x, y); }
Tensor operator!(const Arg& x) { return logical_not(checked_bool("!", x)); }
Tensor operator~(const Arg& x) { return logical_not(checked_bool("~", x)); }
Tensor operator&(const Arg& x, const Arg& y) { return logical_and(checked_bool("&", x), checked_bool("&", y)); }
Tensor operator|(const Arg& x, const Arg& y) { return logical_or(checked_bool("|", x), checked_bool("|", y)); }
Tensor operator^(const Arg& x, const Arg& y) { return logical_xor(checked_bool("^", x), checked_bool("^", y)); }

namespace {

// A number that is chosen has the type of the tensor beside it. Throws Error for a condition that would give them another.
Input chosen(const Arg& condition, const Scalar& value, const Arg& beside) {
  if (is_bool(beside, "where") && !is_bool(condition, "where")) {
    throw_error("where",
                fmt::format("the condition must be bool beside bool, got {} {}", name(condition->dtype()),
                            condition->shape().str()),
                ErrorKind::type);
  }
  return number<f::Where>(value, beside);
}

}  // namespace

Tensor where(const Arg& condition, const Arg& x, const Arg& y) {
  const std::array<Input, 3> inputs = {condition, x, y};
  return detail::apply(f::id<f::Where>(), inputs, condition.where());
}
Tensor where(const Arg& condition, const Arg& x, const Scalar& y) {
  const std::array<Input, 3> inputs = {condition, x, chosen(condition, y, x)};
  return detail::apply(f::id<f::Where>(), inputs, condition.where());
}
Tensor where(const Arg& condition, const Scalar& x, const Arg& y) {
  const std::array<Input, 3> inputs = {condition, chosen(condition, x, y), y};
  return detail::apply(f::id<f::Where>(), inputs, condition.where());
}

Tensor half_squared_error(const Arg& x, const Arg& y) { return binary<f::HalfSquaredError>(x, y); }
Tensor absolute_error(const Arg& x, const Arg& y) { return binary<f::AbsoluteError>(x, y); }
Tensor huber(const Arg& x, const Scalar& delta) { return with_option<f::Huber>(x, "delta", delta, check_positive); }
Tensor huber(const Arg& x, const Arg& delta) { return binary<f::Huber>(x, delta); }
Tensor logistic_loss(const Arg& x, const Arg& y) { return binary<f::LogisticLoss>(x, y); }
Tensor divergence(const Arg& x, const Arg& y) { return binary<f::Divergence>(x, y); }

}  // namespace asyncgrad
