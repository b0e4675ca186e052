// Functions of each element: of one tensor, and of two or of a tensor and a number.
#include "functions.h"

namespace asyncgrad::python {

namespace {

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
    {"floor_divide", floor_divide, floor_divide, false, "x / y, rounded down."},
    {"remainder", remainder, remainder, false, "What floor_divide() leaves, with the sign of y."},
    {"hypot", hypot, hypot, true, "sqrt(x^2 + y^2) without overflow in between."},
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
  if (!row.compares && comparable(dtype) != dtype) check_holds_number(number, dtype, row.name);
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
  for (const ElementwiseFunction& row : elementwise_functions()) {
    const auto function = [row = &row](Handle x) {
      const Call call(x);
      const Tensor tensor = tensor_from(x);
      // What int64 does not have becomes float64 first.
      const DType dtype = row->has_int64 ? tensor.dtype() : floating_of(tensor.dtype());
      const Tensor result = row->function(call.arg(in_type(call, tensor, comparable(dtype))));
      return call.result(row->gives_bool ? Tensor(result) : in_type(call, result, dtype));
    };
    both(m, c, row.name, function, row.computes);
  }
}

void bind_binary(nb::module_& m, TensorClass& c) {
  for (const Binary& row : binary) {
    both(
        m, c, row.name, [row = &row](Handle x, Handle y) { return call_binary(*row, x, y); }, row.doc, nb::arg("y"));
  }
}

// As the operator.
TensorObject power_of(Handle x, Handle y) {
  const bool has_tensor = is_tensor(x.ptr()) || is_tensor(y.ptr());
  const Object base = has_tensor ? nb::borrow(x) : nb::steal(new_object(tensor_from(x), tensor_type));
  Object result = nb::steal(power(base.ptr(), y.ptr()));
  if (!result.is_valid()) throw nb::python_error();
  if (result.ptr() == Py_NotImplemented) throw_type_error("pow() takes tensors and numbers");
  return nb::borrow<TensorObject>(result);
}

}  // namespace

void bind_elementwise(nb::module_& m, TensorClass& c) {
  both(m, c, "pow", &power_of, "x^y; of integers an integer, unless y is a negative number.", nb::arg("y"));
  bind_unary(m, c);
  bind_binary(m, c);
}

}  // namespace asyncgrad::python
