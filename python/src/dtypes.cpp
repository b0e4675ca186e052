// Element types: their names in Python and NumPy, and the types in which operations compute.

#include <algorithm>
#include <array>

#include "conversion.h"
#include "dtypes.h"
#include "errors.h"
#include "module.h"

namespace asyncgrad::python {

namespace {

// asyncgrad.float32 and so on, in the order of DType. The module keeps them alive.
std::array<PyObject*, 64> dtype_objects{};

std::optional<DType> dtype_named(std::string_view text) {
  for (int i = 0; i < dtype_count; ++i) {
    if (text == name(static_cast<DType>(i))) return static_cast<DType>(i);
  }
  return std::nullopt;
}

// The result of numpy.dtype() for the object: "f4", "double", "<i8", numpy.intp.
std::optional<DType> dtype_of_numpy(nb::handle object) {
  if (object.is_none()) return std::nullopt;
  try {
    const nb::object dtype = nb::module_::import_("numpy").attr("dtype")(object);
    return nb::cast<bool>(dtype.attr("isnative")) ? dtype_named(text_of(dtype.attr("name"))) : std::nullopt;
  } catch (const nb::python_error& error) {
    if (error.matches(PyExc_TypeError) || error.matches(PyExc_ValueError)) return std::nullopt;
    throw;
  }
}

}  // namespace

nb::object dtype_object(DType dtype) { return nb::borrow(dtype_objects[static_cast<std::size_t>(dtype)]); }

DType dtype_from(nb::handle object) {
  for (int i = 0; i < dtype_count; ++i) {
    if (object.ptr() == dtype_objects[static_cast<std::size_t>(i)]) return static_cast<DType>(i);
  }
  std::string text;
  if (object.ptr() == reinterpret_cast<PyObject*>(&PyFloat_Type)) {
    text = "float64";
  } else if (object.ptr() == reinterpret_cast<PyObject*>(&PyLong_Type)) {
    text = "int64";
  } else if (object.ptr() == reinterpret_cast<PyObject*>(&PyBool_Type)) {
    text = "bool";
  } else if (PyUnicode_Check(object.ptr())) {
    text = text_of(object);
  } else if (nb::hasattr(object, "name")) {
    text = text_of(object.attr("name"));
  } else if (nb::hasattr(object, "__name__")) {
    text = text_of(object.attr("__name__"));
  }
  auto dtype = dtype_named(text == "bool_" ? "bool" : text);
  if (!dtype) dtype = dtype_of_numpy(object);
  if (!dtype)
    throw_type_error("no tensor has the element type " + repr_of(object) +
                     "; there are float32, float64, int64, int32, uint8, bfloat16 and bool");
  return *dtype;
}

std::optional<DType> tensor_type_of(std::string_view text) {
  if (const auto dtype = dtype_named(text)) return dtype;
  if (text == "float16") return float32;
  if (text.starts_with("int") || text.starts_with("uint")) return int64;
  return std::nullopt;
}

DType natural_type(nb::handle object, const Scalar& number) {
  if (PyBool_Check(object.ptr())) return boolean;
  if (!PyFloat_CheckExact(object.ptr()) && !PyLong_Check(object.ptr()) && nb::hasattr(object, "dtype")) {
    if (const auto dtype = tensor_type_of(text_of(object.attr("dtype")))) return *dtype;
  }
  return number.is_integer() ? int64 : default_dtype();
}

namespace {

int rank_of(DType dtype) {
  constexpr std::array<DType, dtype_count> order{boolean, uint8, int32, int64, bfloat16, float32, float64};
  return static_cast<int>(std::find(order.begin(), order.end(), dtype) - order.begin());
}

}  // namespace

DType promoted(DType a, DType b) {
  if (a == b) return a;
  const auto is_wide_integer = [](DType dtype) { return !is_floating(dtype) && size_bytes(dtype) >= 4; };
  // As in NumPy, float32 does not hold what a wide integer holds.
  if ((is_wide_integer(a) && is_floating(b)) || (is_wide_integer(b) && is_floating(a))) return float64;
  return rank_of(a) < rank_of(b) ? b : a;
}

DType promoted(DType a, const Scalar& number) {
  if (a == boolean) return number.is_integer() ? int64 : default_dtype();
  return number.is_integer() || is_floating(a) ? a : float64;
}

DType kept(DType a, DType b) {
  if (is_floating(a) == is_floating(b)) return promoted(a, b);
  return is_floating(a) ? a : b;
}

DType kept(DType a, const Scalar&) { return a == boolean ? int64 : a; }

DType floating_of(DType dtype) {
  if (is_floating(dtype)) return dtype;
  return dtype == boolean ? default_dtype() : float64;
}

DType comparable(DType dtype) {
  if (has_arithmetic(dtype) || dtype == boolean) return dtype;
  return is_floating(dtype) ? float32 : int64;
}

void bind_dtypes(nb::module_& m) {
  nb::list rows;
  for (int i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    rows.append(nb::make_tuple(name(dtype), size_bytes(dtype), is_floating(dtype)));
  }
  m.attr("_dtypes") = rows;
  m.def(
      "set_default_dtype", [](nb::handle dtype) { set_default_dtype(dtype_from(dtype)); }, nb::arg("dtype"),
      "The type of new tensors, of layers and of Python's floating numbers unless a call names one: \"float32\" or "
      "\"float64\".");
  m.def(
      "default_dtype", [] { return dtype_object(default_dtype()); },
      "The type of new tensors, of layers and of Python's floating numbers unless a call names one: float32 at first.");
  m.def("_promoted", [](nb::handle a, nb::handle b) { return dtype_object(promoted(dtype_from(a), dtype_from(b))); });
  m.def("_set_dtypes", [](nb::list objects) {
    std::size_t i = 0;
    for (const nb::handle object : objects) dtype_objects[i++] = nb::borrow(object).release().ptr();
  });
}

}  // namespace asyncgrad::python
