// Copies: in another type, on another device, into a tensor that exists.
#include "call.h"
#include "conversion.h"
#include "dtypes.h"
#include "functions.h"
#include "module.h"
#include "tensor.h"

namespace asyncgrad::python {

void bind_copies(TensorClass& c) {
  const auto copied = [](Handle x) {
    const Call call(x);
    return call.result(clone(call.arg(tensor_in(x.ptr()))));
  };
  c.def("clone", copied, "A copy with its own values.");
  c.def("copy", copied, "A copy with its own values.");
  const auto converted = [](Handle x, Handle dtype, bool copy) {
    const Call call(x);
    const Tensor& tensor = tensor_in(x.ptr());
    const DType wanted = dtype_from(dtype);
    return call.result_or_same(
        x, copy && tensor.dtype() == wanted ? clone(call.arg(tensor)) : to(call.arg(tensor), wanted));
  };
  c.def("astype", converted, nb::arg("dtype"), nb::arg("copy") = true,
        "A copy in another type; with copy=False the tensor itself if it has that type.");
  c.def(
      "to",
      [converted](Handle x, Handle target, bool, bool copy) {
        if (!is_device(target)) return converted(x, target, copy);
        const Call call(x);
        const Tensor& tensor = tensor_in(x.ptr());
        const Device device = device_from(target);
        return call.result_or_same(
            x, copy && device == tensor.device() ? clone(call.arg(tensor)) : to(call.arg(tensor), device));
      },
      nb::arg("target"), nb::arg("non_blocking") = true, nb::arg("copy") = false,
      "A copy in another type or on another device, or with copy=False the tensor itself if that is what it is. "
      "Differentiable; never blocks.");
  c.def(
      "copy_",
      [](Handle x, Handle source) -> TensorObject {
        const Call call(x);
        Tensor& target = tensor_in(x.ptr());
        target.copy_(call.arg(in_type(call, tensor_from(source), target.dtype())));
        return nb::borrow(x);
      },
      nb::arg("source"), "Writes the source's values here, and returns this tensor.");
  c.def(
      "fill_",
      [](Handle x, Handle value) -> TensorObject {
        const Call call(x);
        Tensor& target = tensor_in(x.ptr());
        const Scalar number = required_number(number_in(target.dtype(), value.ptr(), call.where()), value, "value");
        target.fill_(number);
        return nb::borrow(x);
      },
      nb::arg("value"), "Writes a number everywhere, and returns this tensor.");
  c.def(
      "pin_memory",
      [](Handle x) {
        const Call call(x);
        return call.result_or_same(x, pin_memory(call.arg(tensor_in(x.ptr()))));
      },
      "A copy in page-locked memory of the CPU, from and to which GPUs copy directly, or the tensor itself if it is "
      "there. Differentiable; never blocks. Raises an error where there is no GPU.");
  c.def(
      "is_pinned", [](Handle x) { return is_pinned(tensor_in(x.ptr())); },
      "Whether pin_memory() has made the memory of the values.");
}

}  // namespace asyncgrad::python
