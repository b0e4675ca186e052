// Functions of each element: of one tensor, and of two or of a tensor and a number.
#include <algorithm>
#include <string_view>

#include "call.h"
#include "conversion.h"
#include "dtypes.h"
#include "errors.h"
#include "functions.h"
#include "module.h"
#include "operators.h"
#include "tensor.h"

namespace asyncgrad::python {

namespace {

using Binary = BinaryElementwiseFunction;

// A number as an operand beside a tensor, in the type of the result.
Scalar number_beside(const Call& call, const Binary& row, const Scalar& given, DType dtype) {
  const Scalar number = call.number(given, dtype);
  if (!row.gives_bool && comparable(dtype) != dtype) check_holds_number(number, dtype, row.name);
  return number;
}

TensorObject call_binary(const Binary& row, Handle x, Handle y) {
  const bool is_swapped = !is_tensor(x.ptr()) && is_tensor(y.ptr());
  const Call call(is_swapped ? y : x);
  const auto left =
      is_swapped ? number_in(tensor_in(y.ptr()).dtype(), x.ptr(), call.where()) : number_from(x.ptr(), call.where());
  Tensor a;
  if (!is_swapped) a = tensor_from(x);
  if (is_swapped && !left) a = tensor_beside(tensor_in(y.ptr()), x);
  const auto right = is_swapped ? std::nullopt : number_in(a.dtype(), y.ptr(), call.where());
  if (right && row.beside_number != nullptr) {
    DType dtype = call.promoted(a.dtype(), *right);
    if (!row.has_int64) dtype = floating_of(dtype);
    a = in_type(call, a, comparable(dtype));
    const Tensor result = row.beside_number(call.arg(a), number_beside(call, row, *right, dtype));
    return call.result(row.gives_bool ? Tensor(result) : in_type(call, result, dtype));
  }
  const Tensor b = is_swapped ? tensor_in(y.ptr()) : tensor_beside(a, y);
  DType dtype = left ? call.promoted(b.dtype(), *left) : call.promoted(a.dtype(), b.dtype());
  if (!row.has_int64) dtype = floating_of(dtype);
  const DType within = comparable(dtype);
  a = left
          ? full(Shape{}, number_beside(call, row, *left, dtype), {.dtype = within, .device = b.device()}, call.where())
          : in_type(call, a, within);
  const Tensor result = row.function(call.arg(a), call.arg(in_type(call, b, within)));
  return call.result(row.gives_bool ? Tensor(result) : in_type(call, result, dtype));
}

// Functions that take a number beside the tensor, which has a default.
struct WithNumber {
  const char *name, *number;
  double usual;
  Tensor (*function)(const Arg&, const Scalar&);
  Tensor (*of_tensors)(const Arg&, const Arg&);
  const char* doc;
};
constexpr WithNumber with_numbers[] = {
    {"leaky_relu", "slope", leaky_relu_slope, leaky_relu, leaky_relu, "x, or slope x where x < 0"},
    {"elu", "scale", elu_scale, elu, elu, "x, or scale (e^x - 1) where x < 0"},
};

void bind_unary(nb::module_& m, TensorClass& c) {
  for (const ElementwiseFunction& row : elementwise_functions()) {
    if (std::ranges::any_of(with_numbers,
                            [&](const WithNumber& other) { return row.name == std::string_view(other.name); }))
      continue;
    const auto function = [row = &row](Handle x) {
      const Call call(x);
      const Tensor tensor = tensor_from(x);
      // If the function has no form for int64, the operand becomes float64 first.
      const DType dtype = row->has_int64 ? tensor.dtype() : floating_of(tensor.dtype());
      const Tensor result = row->function(call.arg(in_type(call, tensor, comparable(dtype))));
      return call.result(row->gives_bool ? Tensor(result) : in_type(call, result, dtype));
    };
    both(m, c, row.name, function, row.computes);
  }
}

void bind_with_numbers(nb::module_& m, TensorClass& c) {
  for (const WithNumber& row : with_numbers) {
    const auto function = [row = &row](Handle x, Handle number) {
      const Call call(x);
      const Tensor tensor = tensor_from(x);
      const DType dtype = floating_of(tensor.dtype()), within = comparable(dtype);
      const Tensor operand = in_type(call, tensor, within);
      const Tensor result =
          is_tensor(number.ptr())
              ? row->of_tensors(call.arg(operand), call.arg(in_type(call, tensor_in(number.ptr()), within)))
              : row->function(call.arg(operand),
                              required_number(number_in(within, number.ptr(), call.where()), number, row->number));
      return call.result(in_type(call, result, dtype));
    };
    both(m, c, row.name, function, row.doc, nb::arg(row.number) = row.usual);
  }
}

void bind_binary(nb::module_& m, TensorClass& c) {
  for (const Binary& row : binary_elementwise_functions()) {
    both(
        m, c, row.name, [row = &row](Handle x, Handle y) { return call_binary(*row, x, y); }, row.computes,
        nb::arg("y"));
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
  bind_with_numbers(m, c);
  bind_binary(m, c);
}

}  // namespace asyncgrad::python
