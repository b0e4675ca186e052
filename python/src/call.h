// A call of a function of the library by Python.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "conversion.h"
#include "dtypes.h"
#include "location.h"
#include "tensor.h"
#include "tensor_classes.h"

namespace asyncgrad::python {

// Where the call stands in the program, and what follows from the class of its first operand.
class Call {
 public:
  // The result has the class of the first operand.
  explicit Call(PyTypeObject* type) : type_(type), rules_(rules_of(type)), where_(here()) {
    if (rules_.records_on_request && !is_recording_requested()) unrecorded_.emplace();
  }
  explicit Call(nb::handle operand) : Call(is_tensor(operand.ptr()) ? Py_TYPE(operand.ptr()) : tensor_type) {}
  const Location& where() const { return where_; }
  Arg arg(const Tensor& tensor) const { return Arg(tensor, where_); }
  Scalar scalar(double value) const { return Scalar(value, where_); }
  Scalar scalar(std::int64_t value) const { return Scalar(value, where_); }
  const ClassRules& rules() const { return rules_; }
  // The type to compute in, and the number as that type takes it.
  DType promoted(DType a, DType b) const { return rules_.keeps_types ? kept(a, b) : python::promoted(a, b); }
  DType promoted(DType a, const Scalar& number) const {
    return rules_.keeps_types ? kept(a, number) : python::promoted(a, number);
  }
  Scalar number(const Scalar& given, DType dtype) const {
    if (!rules_.keeps_types || is_floating(dtype) || given.is_integer()) return given;
    return scalar(whole_part(given.as_double()));
  }
  TensorObject result(Tensor&& tensor) const { return nb::steal(new_object(std::move(tensor), type_)); }
  // The object `x` itself if the library gave its tensor back.
  TensorObject result_or_same(nb::handle x, Tensor&& tensor) const {
    return tensor.impl() == tensor_in(x.ptr()).impl() ? nb::borrow(x) : result(std::move(tensor));
  }
  TensorObjects results(std::vector<Tensor>&& tensors) const;

 private:
  PyTypeObject* type_;
  const ClassRules& rules_;
  Location where_;
  std::optional<NoGrad> unrecorded_;
};

}  // namespace asyncgrad::python
