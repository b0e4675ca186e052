// Functions of each element: of one tensor, and of two or of a tensor and a number.
#include "functions.h"
#include "integer_division.h"

namespace asyncgrad::python {

namespace {

struct Unary {
  const char* name;
  Tensor (*function)(const Arg&);
  bool is_floating;  // integers become float64 first
  const char* doc;
  bool compares = false;  // as bool, of every type
};

constexpr Unary unary[] = {
    {"relu", relu, false, "max(x, 0)"},
    {"sigmoid", sigmoid, true, "1 / (1 + e^-x)"},
    {"tanh", tanh, true, "The hyperbolic tangent."},
    {"exp", exp, true, "e^x"},
    {"log", log, true, "The natural logarithm."},
    {"square", square, false, "x^2"},
    {"sqrt", sqrt, true, "The square root."},
    {"abs", abs, false, "The absolute value."},
    {"rsqrt", rsqrt, true, "1 / sqrt(x)"},
    {"sin", sin, true, "The sine of x in radians."},
    {"cos", cos, true, "The cosine of x in radians."},
    {"erf", erf, true, "The error function."},
    {"log1p", log1p, true, "log(1 + x), accurate near 0."},
    {"expm1", expm1, true, "e^x - 1, accurate near 0."},
    {"silu", silu, true, "x sigmoid(x)"},
    {"softplus", softplus, true, "log(1 + e^x)"},
    {"gelu", gelu, true, "x (1 + erf(x / sqrt(2))) / 2"},
    {"gelu_tanh", gelu_tanh, true, "The approximation of gelu by tanh."},
    {"floor", floor, false, "The largest integer that is at most x. No gradient."},
    {"isnan", isnan, false, "Whether it is NaN, as bool.", true},
    {"isfinite", isfinite, false, "Whether it is neither infinite nor NaN, as bool.", true},
    {"logical_not", logical_not, false, "Whether it is 0, as bool.", true},
    {"round", round, false, "The nearest integer, halves to the even one. No gradient."},
    {"sign", sign, false, "-1, 0 or 1. No gradient."},
};

struct Binary {
  const char* name;
  Tensor (*tensors)(const Arg&, const Arg&);
  Tensor (*number)(const Arg&, const Scalar&);  // null: a number becomes a tensor
  bool is_floating;
  const char* doc;
  bool compares = false;
};

constexpr Binary binary[] = {
    {"maximum", maximum, maximum, false, "The larger one of x and y, broadcast against each other."},
    {"minimum", minimum, minimum, false, "The smaller one of x and y, broadcast against each other."},
    {"pow", pow, pow, true, "x^y"},
    {"equal", equal, equal, false, "Whether x = y, as bool.", true},
    {"not_equal", not_equal, not_equal, false, "Whether x and y differ, as bool.", true},
    {"less", less, less, false, "Whether x < y, as bool.", true},
    {"less_equal", less_equal, less_equal, false, "Whether x <= y, as bool.", true},
    {"greater", greater, greater, false, "Whether x > y, as bool.", true},
    {"greater_equal", greater_equal, greater_equal, false, "Whether x >= y, as bool.", true},
    {"logical_and", logical_and, nullptr, false, "Whether neither is 0, as bool.", true},
    {"logical_or", logical_or, nullptr, false, "Whether not both are 0, as bool.", true},
    {"logical_xor", logical_xor, nullptr, false, "Whether one of them is 0, as bool.", true},
};

// A number as an operand beside a tensor, in the type of the result.
Scalar number_beside(const Call& call, const Binary& row, const Scalar& given, DType dtype) {
  const Scalar number = call.number(given, dtype);
  if (!row.compares && comparable(dtype) != dtype) number.check_fits(dtype, row.name);
  return number;
}

TensorObject call_binary(const Binary& row, Handle x, Handle y) {
  const bool is_swapped = !is_tensor(x.ptr()) && is_tensor(y.ptr());
  const Call call(is_swapped ? y : x);
  Tensor a = is_swapped ? tensor_beside(tensor_in(y.ptr()), x) : tensor_from(x);
  const auto left = number_from(x.ptr(), call.where()), right = number_from(y.ptr(), call.where());
  if (right && row.number != nullptr) {
    DType dtype = call.promoted(a.dtype(), *right);
    if (row.is_floating) dtype = floating_of(dtype);
    a = in_type(call, a, comparable(dtype));
    const Tensor result = row.number(call.arg(a), number_beside(call, row, *right, dtype));
    return call.result(row.compares ? Tensor(result) : in_type(call, result, dtype));
  }
  const Tensor b = tensor_beside(a, y);
  DType dtype = left ? call.promoted(b.dtype(), *left) : call.promoted(a.dtype(), b.dtype());
  if (row.is_floating) dtype = floating_of(dtype);
  const DType within = comparable(dtype);
  a = left
          ? full(Shape{}, number_beside(call, row, *left, dtype), {.dtype = within, .device = b.device()}, call.where())
          : in_type(call, a, within);
  const Tensor result = row.tensors(call.arg(a), call.arg(in_type(call, b, within)));
  return call.result(row.compares ? Tensor(result) : in_type(call, result, dtype));
}

void bind_unary(nb::module_& m, TensorClass& c) {
  for (const Unary& row : unary) {
    const auto function = [row = &row](Handle x) {
      const Call call(x);
      const Tensor tensor = tensor_from(x);
      DType dtype = tensor.dtype();
      if (row->is_floating) dtype = floating_of(dtype);
      const Tensor result = row->function(call.arg(in_type(call, tensor, comparable(dtype))));
      return call.result(row->compares ? Tensor(result) : narrowed(call.arg(result), dtype));
    };
    both(m, c, row.name, function, row.doc);
  }
}

void bind_binary(nb::module_& m, TensorClass& c) {
  for (const Binary& row : binary) {
    both(
        m, c, row.name, [row = &row](Handle x, Handle y) { return call_binary(*row, x, y); }, row.doc, nb::arg("y"));
  }
}

}  // namespace

void bind_elementwise(nb::module_& m, TensorClass& c) {
  bind_unary(m, c);
  bind_binary(m, c);
}

}  // namespace asyncgrad::python
