// x[key] and x[key] = value.
#pragma once

#include "nb.h"

namespace asyncgrad::python {

PyObject* item_of(PyObject* self, PyObject* key) noexcept;
PyObject* row_at(PyObject* self, Py_ssize_t row);
int set_item(PyObject* self, PyObject* key, PyObject* value) noexcept;

}  // namespace asyncgrad::python
