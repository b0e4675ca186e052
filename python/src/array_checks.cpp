#include "array_checks.h"

#include <algorithm>
#include <span>
#include <string>

#include "conversion.h"
#include "errors.h"

namespace asyncgrad::python {

namespace {

[[noreturn]] void throw_out_of_bounds(nb::handle number, DType dtype) {
  PyErr_Format(PyExc_OverflowError, "Python integer %s out of bounds for %s",
               repr_of(nb::int_(nb::borrow(number))).c_str(), name(dtype));
  throw nb::python_error();
}

}  // namespace

nb::module_ numpy() { return nb::module_::import_("numpy"); }

bool is_untyped(nb::handle object) {
  if (PyFloat_CheckExact(object.ptr()) || PyLong_Check(object.ptr())) return true;
  if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr())) {
    for (const nb::handle item : object) {
      if (!is_untyped(item)) return false;
    }
    return true;
  }
  return PyFloat_Check(object.ptr()) && !nb::hasattr(object, "dtype");
}

bool is_masked_array(nb::handle object) { return nb::hasattr(object, "mask") && nb::hasattr(object, "filled"); }

void check_unmasked(nb::handle object) {
  if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr())) {
    for (const nb::handle item : object) {
      if (!PyFloat_CheckExact(item.ptr()) && !PyLong_CheckExact(item.ptr())) check_unmasked(item);
    }
  } else if (is_masked_array(object) && PyObject_IsTrue(numpy().attr("ma").attr("is_masked")(object).ptr()) == 1) {
    throw_type_error("a tensor cannot keep the mask of a masked array; fill it first, with filled(value)");
  }
}

void check_bounds(nb::handle array, DType dtype) {
  if (is_floating(dtype) || dtype == boolean || nb::cast<std::string>(array.attr("dtype").attr("kind")) == "f") return;
  if (nb::cast<std::int64_t>(array.attr("size")) == 0) return;
  const nb::object limits = numpy().attr("iinfo")(name(dtype));
  const nb::object least = array.attr("min")(), most = array.attr("max")();
  if (least < limits.attr("min")) throw_out_of_bounds(least, dtype);
  if (most > limits.attr("max")) throw_out_of_bounds(most, dtype);
}

void check_large_numbers(nb::handle array, DType dtype) {
  if (dtype == boolean) return;
  const auto numbers = nb::cast<nb::list>(array.attr("ravel")().attr("tolist")());
  for (const nb::handle number : numbers) {
    if (!PyLong_Check(number.ptr()) && !PyFloat_Check(number.ptr())) return;
  }
  for (const nb::handle number : numbers) {
    if (is_floating(dtype)) float_from(number, "a number");
    if (!is_floating(dtype) && PyLong_Check(number.ptr())) {
      const nb::object limits = numpy().attr("iinfo")(name(dtype));
      if (number < limits.attr("min") || number > limits.attr("max")) throw_out_of_bounds(number, dtype);
    }
  }
}

void check_aligned(const void* data, DType dtype) {
  if (reinterpret_cast<std::uintptr_t>(data) % size_bytes(dtype) == 0) return;
  throw_value_error("only memory that is aligned to its elements can be shared, " + std::to_string(size_bytes(dtype)) +
                    " bytes for " + name(dtype) + "; array() copies it");
}

void check_truths(const void* data, DType dtype, const Shape& shape) {
  const std::span bytes(static_cast<const std::uint8_t*>(data),
                        dtype == boolean ? static_cast<std::size_t>(shape.numel()) : 0);
  const auto other = std::ranges::find_if(bytes, [](std::uint8_t byte) { return byte > 1; });
  if (other == bytes.end()) return;
  throw_value_error("only bools that are stored as 0 and 1 can be shared, and one is " + std::to_string(*other) +
                    "; array() copies them");
}

}  // namespace asyncgrad::python
