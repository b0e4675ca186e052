// Element types: their names in Python and NumPy, and the types in which operations compute.
#pragma once

#include <optional>
#include <string_view>

#include "asyncgrad/asyncgrad.h"
#include "nb.h"

namespace asyncgrad::python {

DType dtype_from(nb::handle object);  // asyncgrad.float32, "float32", numpy.float32, numpy.dtype("float32"), float
nb::object dtype_object(DType dtype);
// The nearest type that tensors have for a type of NumPy's, by its name; nothing for complex numbers and the like.
std::optional<DType> tensor_type_of(std::string_view numpy_name);
// The type that array() and full() give a number: Python's floats get the default type, and NumPy's numbers keep their
// type.
DType natural_type(nb::handle object, const Scalar& number);

// The type that NumPy computes in: of two types, and of a type and a number.
DType promoted(DType a, DType b);
DType promoted(DType a, const Scalar& number);
DType floating_of(DType dtype);  // float64 for integers, the default type for bool
DType comparable(DType dtype);   // int64 for narrower integers, float32 for bfloat16: the types that have arithmetic
// The same for a class that keeps types: the floating one beside an integer; a number takes the tensor's type.
DType kept(DType a, DType b);
DType kept(DType a, const Scalar& number);

}  // namespace asyncgrad::python
