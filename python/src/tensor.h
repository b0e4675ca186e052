// The type asyncgrad.Tensor, and its objects.
#pragma once

#include "asyncgrad/asyncgrad.h"
#include "errors.h"
#include "nb.h"

namespace asyncgrad::python {

// Objects whose class the stubs name.
using TensorObject = nb::typed<nb::object, Tensor>;
using TensorObjects = nb::typed<nb::list, Tensor>;

extern PyTypeObject* tensor_type;

inline bool is_tensor(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  return type == tensor_type || PyType_IsSubtype(type, tensor_type) != 0;
}
inline Tensor& tensor_in(PyObject* object) {
  if (!is_tensor(object)) throw_no_tensor(object);
  Tensor& tensor = *nb::inst_ptr<Tensor>(object);
  if (!tensor.defined()) throw_type_error("a tensor that holds nothing; assign one with values to it first");
  return tensor;
}
// A new Python object of the given class, which is Tensor or derived from it.
PyObject* new_object(Tensor&& tensor, PyTypeObject* type);

}  // namespace asyncgrad::python
