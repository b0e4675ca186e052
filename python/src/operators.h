// The operators of tensors.
#pragma once

#include <vector>

#include "nb.h"

namespace asyncgrad::python {

// The slots of the operators, without the row of zeros at the end.
std::vector<PyType_Slot> operator_slots();
// a ** b, one of which is a tensor; NotImplemented if the other one is no operand.
PyObject* power(PyObject* a, PyObject* b) noexcept;

}  // namespace asyncgrad::python
