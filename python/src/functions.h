// The common declarations of the files that bind the functions of docs/operations.md. Each of these is a function of
// the module and, if it has a tensor as its first parameter, a method.
#pragma once

#include "call.h"
#include "conversion.h"
#include "dtypes.h"
#include "errors.h"
#include "module.h"

namespace asyncgrad::python {

using Handle = nb::handle;
using Object = nb::object;

// Defines a function of the module and a method, whose parameters after the tensor are `extra`.
template <class Function, class... Extra>
void both(nb::module_& m, TensorClass& c, const char* name, Function function, const char* doc, const Extra&... extra) {
  m.def(name, function, nb::arg("x"), extra..., doc);
  c.def(name, function, extra..., doc);
}

inline Tensor in_type(const Call& call, const Tensor& x, DType dtype) {
  return x.dtype() == dtype ? x : to(call.arg(x), dtype);
}

// Gives the tensors, of which there is one at least, the type that they have in common.
inline void give_one_type(const Call& call, std::vector<Tensor>& tensors) {
  DType dtype = tensors[0].dtype();
  for (const Tensor& tensor : tensors) dtype = call.promoted(dtype, tensor.dtype());
  for (Tensor& tensor : tensors) tensor = in_type(call, tensor, dtype);
}

}  // namespace asyncgrad::python
