// Conversions of Python's arguments: devices, shapes, numbers, axes and tensors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "nb.h"

namespace asyncgrad::python {

using ExtentTuple = nb::typed<nb::tuple, int, nb::ellipsis>;

// Whether the object is a device rather than a type: a text that begins with a kind of device, or an object that has
// one.
bool is_device(nb::handle object);
Device device_from(nb::handle object);  // "cpu:1", or an object whose __asyncgrad_device__ is such a text
Device device_or_default(nb::handle object);
std::string text_of(nb::handle object);  // str(object); UnicodeEncodeError for one that UTF-8 does not know
// repr(object) for a message: its beginning if it is long, and "an integer of 1329 bits" in place of a large one, which
// Python may refuse to write.
std::string repr_of(nb::handle object);
std::string path_from(nb::handle object);  // a text, bytes or an object with __fspath__(); without a NUL
// An integer or a sequence of them, each of which is `what` in errors.
Shape shape_from(nb::handle object, const char* what = "an extent");
Shape reshaped(const Tensor& x, nb::handle shape);  // one extent may be -1
Shape shape_of_args(const nb::args& args);          // f(2, 3) or f((2, 3))
ExtentTuple tuple_of(const Shape& shape);
std::optional<Scalar> number_from(PyObject* object, const Location& where);  // a Python or NumPy number
// The same for a value of a type: a floating one rounds integers of any size.
std::optional<Scalar> number_in(DType dtype, PyObject* object, const Location& where);
// The same for an operand beside a tensor: True beside bool is no number, as it is bool itself.
std::optional<Scalar> number_beside(DType beside, PyObject* object, const Location& where);
// The number that one of these read from `object`. Throws TypeError, naming `what`, if it is none.
Scalar required_number(const std::optional<Scalar>& number, nb::handle object, const char* what);
std::int64_t integer_from(nb::handle object, const char* what);
double float_from(nb::handle object, const char* what);  // an integer is rounded
int axis_from(nb::handle object);
// The axes of a reduction, or nothing for None.
std::optional<std::vector<int>> axes_from(nb::handle object);
// The same; all axes of a tensor of that rank for None.
std::vector<int> axes_or_all(nb::handle object, int rank);
Axes axes_of(const std::vector<int>& axes);
// The items of a list, a tuple or another object that can be iterated. Throws TypeError for any other object, which says
// that a list of `what`, such as "tensors", is asked for.
std::vector<nb::object> items_from(nb::handle object, const char* what);
std::vector<Tensor> tensors_from(nb::handle sequence);
// A tensor, or the result of array() for another object.
Tensor tensor_from(nb::handle object);
// The same; Tensor{} for None.
inline Tensor tensor_or_none(nb::handle object) { return object.is_none() ? Tensor() : tensor_from(object); }
// The same for an operand beside another one, on whose device it is made.
Tensor tensor_beside(const Tensor& other, nb::handle object);
// Throws Error if the type cannot hold the number; floating types round integers.
void check_holds_number(const Scalar& number, DType dtype, const char* operation);
// The generator that the argument of a function is; null for None, which stands for the default one.
Generator* generator_from(nb::handle object, const char* function);
// A floating number without its fraction. Throws ValueError if an int64 cannot hold it.
std::int64_t whole_part(double number);

}  // namespace asyncgrad::python
