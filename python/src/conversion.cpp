// Conversions of Python's arguments: devices, shapes, numbers, axes and tensors.

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <utility>

#include "arrays.h"
#include "call.h"
#include "conversion.h"
#include "errors.h"
#include "tensor.h"

namespace asyncgrad::python {

namespace {

constexpr std::int64_t longest_integer = 128;  // bits
constexpr Py_ssize_t longest_repr = 300;       // characters

// The attribute in which another library's object of a device keeps the text.
constexpr const char* device_attribute = "__asyncgrad_device__";

}  // namespace

std::string text_of(nb::handle object) {
  const nb::str text(object);
  Py_ssize_t size = 0;
  const char* const bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (bytes == nullptr) throw nb::python_error();
  return {bytes, static_cast<std::size_t>(size)};
}
std::string repr_of(nb::handle object) {
  if (PyLong_Check(object.ptr()) != 0) {
    const auto bits = nb::cast<std::int64_t>(object.attr("bit_length")());
    if (bits > longest_integer) return "an integer of " + std::to_string(bits) + " bits";
  }
  try {
    const nb::object text = nb::repr(object);
    if (PyUnicode_GetLength(text.ptr()) <= longest_repr) return text_of(text);
    return text_of(nb::steal(PyUnicode_Substring(text.ptr(), 0, longest_repr))) + "…";
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;
    // A part of it may be such an integer.
    return "an object of the type " + text_of(object.type().attr("__name__"));
  }
}

bool is_device(nb::handle object) {
  if (!PyUnicode_Check(object.ptr())) return nb::hasattr(object, device_attribute);
  const std::string text = text_of(object);
  return text.starts_with("cpu") || text.starts_with("cuda");
}
Device device_from(nb::handle object) {
  if (PyUnicode_Check(object.ptr())) return {std::string_view(text_of(object)), here()};
  if (nb::hasattr(object, device_attribute)) return {std::string_view(text_of(object.attr(device_attribute))), here()};
  throw_type_error("a device is a text such as \"cpu\" or \"cpu:1\", not " + repr_of(object));
}
Device device_or_default(nb::handle object) { return object.is_none() ? default_device() : device_from(object); }

// As open() takes them.
std::string path_from(nb::handle object) {
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(object.ptr(), &bytes) == 0) throw nb::python_error();
  const nb::object held = nb::steal(bytes);
  return {PyBytes_AsString(bytes), static_cast<std::size_t>(PyBytes_Size(bytes))};
}

std::int64_t integer_from(nb::handle object, const char* what) {
  nb::object index = nb::steal(PyNumber_Index(object.ptr()));
  if (!index.is_valid()) {
    PyErr_Clear();
    throw_type_error(std::string(what) + " is an integer, not " + repr_of(object));
  }
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0) throw_value_error(std::string(what) + " does not fit into 64 bits: " + repr_of(object));
  return value;
}

double float_from(nb::handle object, const char* what) {
  const double value = PyFloat_AsDouble(object.ptr());
  if (PyErr_Occurred() == nullptr) return value;
  const bool is_too_large = PyErr_ExceptionMatches(PyExc_OverflowError) != 0;
  PyErr_Clear();
  if (!is_too_large) throw_type_error(std::string(what) + " must be a number, got " + repr_of(object));
  throw_value_error(std::string(what) + " does not fit into float64: " + repr_of(object) +
                    "; float('inf') stands for what is larger than all");
}

int axis_from(nb::handle object) {
  const std::int64_t axis = integer_from(object, "an axis");
  if (std::in_range<std::int32_t>(axis)) return static_cast<int>(axis);
  throw_index_error("there is no axis " + std::to_string(axis) + "; a tensor has six at most");
}

namespace {

// An integer counts as a sequence of one.
std::vector<std::int64_t> integers_from(nb::handle object, const char* what) {
  std::vector<std::int64_t> values;
  if (PyTuple_Check(object.ptr()) || PyList_Check(object.ptr())) {
    for (const nb::handle item : object) values.push_back(integer_from(item, what));
  } else if (PyLong_Check(object.ptr()) || PyObject_HasAttrString(object.ptr(), "__iter__") == 0) {
    values.push_back(integer_from(object, what));
  } else if (is_tensor(object.ptr()) && tensor_in(object.ptr()).rank() == 0) {
    values.push_back(integer_from(object, what));
  } else {
    for (const nb::handle item : object) values.push_back(integer_from(item, what));
  }
  return values;
}

}  // namespace

Shape shape_from(nb::handle object, const char* what) {
  const std::vector<std::int64_t> extents = integers_from(object, what);
  return Shape(std::span<const std::int64_t>(extents));
}

Shape reshaped(const Tensor& x, nb::handle object) {
  const std::vector<std::int64_t> extents = integers_from(object, "an extent");
  return NewShape(std::span<const std::int64_t>(extents)).of(x.shape(), "reshape");
}

Shape shape_of_args(const nb::args& args) {
  if (args.size() == 1) return shape_from(args[0]);
  return shape_from(args);
}

ExtentTuple tuple_of(const Shape& shape) {
  PyObject* const tuple = PyTuple_New(shape.rank());
  for (int i = 0; i < shape.rank(); ++i) PyTuple_SetItem(tuple, i, PyLong_FromLongLong(shape[i]));
  return nb::steal<nb::tuple>(tuple);
}

std::optional<Scalar> number_from(PyObject* object, const Location& where) {
  if (PyFloat_Check(object)) return Scalar(PyFloat_AsDouble(object), where);
  if (PyLong_Check(object)) return Scalar(integer_from(object, "a number"), where);
  if (is_tensor(object) || PyUnicode_Check(object) || PyTuple_Check(object) || PyList_Check(object))
    return std::nullopt;
  // Numbers of NumPy, but not its arrays; zero axes make an array a number.
  if (PyObject_HasAttrString(object, "dtype") == 0 || PyObject_HasAttrString(object, "__float__") == 0)
    return std::nullopt;
  const nb::object shape = nb::borrow(object).attr("shape");
  if (nb::len(shape) != 0) return std::nullopt;
  const std::string dtype = text_of(nb::borrow(object).attr("dtype"));
  if (dtype.starts_with("complex")) return std::nullopt;  // a conversion would drop the imaginary part
  if (dtype == "bool") return Scalar(std::int64_t{PyObject_IsTrue(object)}, where);
  if (PyObject* const index = PyNumber_Index(object)) {
    const nb::object owned = nb::steal(index);
    return Scalar(integer_from(owned, "a number"), where);
  }
  PyErr_Clear();
  const nb::object value = nb::steal(PyNumber_Float(object));
  if (!value.is_valid()) throw nb::python_error();
  return Scalar(PyFloat_AsDouble(value.ptr()), where);
}

std::optional<Scalar> number_in(DType dtype, PyObject* object, const Location& where) {
  if (!is_floating(dtype) || !PyLong_Check(object)) return number_from(object, where);
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow == 0) return Scalar(value, where);
  return Scalar(float_from(object, "a number"), where);
}

Scalar required_number(const std::optional<Scalar>& number, nb::handle object, const char* what) {
  if (!number) throw_type_error(std::string(what) + " must be a number, got " + repr_of(object));
  return *number;
}

namespace {

// True or False, also NumPy's.
bool is_truth(PyObject* object) {
  if (PyBool_Check(object)) return true;
  return !is_tensor(object) && PyObject_HasAttrString(object, "dtype") != 0 &&
         text_of(nb::borrow(object).attr("dtype")) == "bool";
}

}  // namespace

std::optional<Scalar> number_beside(DType beside, PyObject* object, const Location& where) {
  if (beside == boolean && is_truth(object)) return std::nullopt;
  return number_in(beside, object, where);
}

std::optional<std::vector<int>> axes_from(nb::handle object) {
  if (object.is_none()) return std::nullopt;
  std::vector<int> axes;
  if (PyTuple_Check(object.ptr()) || PyList_Check(object.ptr())) {
    for (const nb::handle item : object) axes.push_back(axis_from(item));
  } else {
    axes.push_back(axis_from(object));
  }
  return axes;
}

std::vector<int> axes_or_all(nb::handle object, int rank) {
  std::vector<int> all(static_cast<std::size_t>(rank));
  std::iota(all.begin(), all.end(), 0);
  return axes_from(object).value_or(all);
}

Axes axes_of(const std::vector<int>& axes) {
  if (axes.size() > Shape::max_rank)
    throw_value_error(std::to_string(axes.size()) + " axes are named; a tensor has six at most");
  return Axes(axes);
}

std::vector<nb::object> items_from(nb::handle object, const char* what) {
  const nb::object iterator = nb::steal(PyObject_GetIter(object.ptr()));
  if (!iterator.is_valid()) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw nb::python_error();
    PyErr_Clear();
    throw_type_error(std::string("a list of ") + what + " is asked for, not " + repr_of(object));
  }
  std::vector<nb::object> items;
  while (PyObject* const item = PyIter_Next(iterator.ptr())) items.push_back(nb::steal(item));
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return items;
}

std::vector<Tensor> tensors_from(nb::handle sequence) {
  if (is_tensor(sequence.ptr())) throw_type_error("a list of tensors is asked for, not one tensor");
  std::vector<Tensor> tensors;
  for (const nb::object& item : items_from(sequence, "tensors")) tensors.push_back(tensor_from(item));
  return tensors;
}

Tensor tensor_from(nb::handle object) {
  if (is_tensor(object.ptr())) return tensor_in(object.ptr());
  return array_copy(object, nb::none(), default_device());
}

Tensor tensor_beside(const Tensor& other, nb::handle object) {
  if (is_tensor(object.ptr())) return tensor_in(object.ptr());
  if (PyLong_CheckExact(object.ptr())) {
    const Location where = here();
    const auto number = number_in(other.dtype(), object.ptr(), where);
    if (!number->is_integer())  // int64 does not hold it
      return full(Shape{}, *number, {.dtype = other.dtype(), .device = other.device()}, where);
  }
  return array_copy(object, nb::none(), other.device());
}

void check_holds_number(const Scalar& number, DType dtype, const char* operation) {
  if (!(number.is_integer() && is_floating(dtype))) number.check_fits(dtype, operation);
}

Generator* generator_from(nb::handle object, const char* function) {
  if (object.is_none()) return nullptr;
  if (nb::isinstance<Generator>(object)) return nb::cast<Generator*>(object);
  throw_type_error(std::string("[") + function + "] generator must be a Generator, got " + repr_of(object));
}

std::int64_t whole_part(double number) {
  constexpr double limit = 9223372036854775808.0;  // 2^63
  if (!(number >= -limit && number < limit)) throw_value_error("an integer cannot hold " + text_of(nb::float_(number)));
  return static_cast<std::int64_t>(number);
}

}  // namespace asyncgrad::python
