// backward() and grad() of several tensors.
#include <nanobind/stl/vector.h>

#include "call.h"
#include "conversion.h"
#include "functions.h"
#include "module.h"
#include "tensor.h"

namespace asyncgrad::python {

namespace {

std::vector<Tensor> one_or_more(Handle object) {
  if (is_tensor(object.ptr())) return {tensor_in(object.ptr())};
  return tensors_from(object);
}
std::vector<Tensor> head_gradients(Handle object) {
  if (object.is_none()) return {};
  if (is_tensor(object.ptr())) return {tensor_in(object.ptr())};
  std::vector<Tensor> tensors;
  for (const Object& item : items_from(object, "tensors"))
    tensors.push_back(item.is_none() ? Tensor() : tensor_from(item));
  return tensors;
}

}  // namespace

void bind_gradients(nb::module_& m, TensorClass& c) {
  m.def(
      "parameter",
      [](Handle value) -> TensorObject {
        Tensor tensor = tensor_in(value.ptr());
        return nb::steal(new_object(parameter(std::move(tensor), here()), Py_TYPE(value.ptr())));
      },
      nb::arg("value"), "The same tensor, made a leaf whose gradient is wanted.");
  m.def(
      "missing_leaves", [](Handle y, Handle known) { return missing_leaves(tensor_in(y.ptr()), tensors_from(known)); },
      nb::arg("y"), nb::arg("known"), "The leaves that y was computed from and that are not among `known`.");
  c.def(
      "retain_grad", [](Handle x) { tensor_in(x.ptr()).retain_grad(here()); },
      "Lets backward() keep the gradient of this tensor in grad, also if an operation made it.");
  m.def(
      "backward",
      [](Handle ys, Handle dys, bool retain_graph) {
        backward(one_or_more(ys), head_gradients(dys), {.retain_graph = retain_graph}, here());
      },
      nb::arg("ys"), nb::arg("dys") = nb::none(), nb::arg("retain_graph") = BackwardOptions{}.retain_graph,
      "Computes the gradients of sum(y * dy) over all ys, with ones for None, and adds them to grad of every leaf that "
      "they were computed from.");
  const GradOptions unchanged;
  m.def(
      "grad",
      [](Handle ys, Handle inputs, Handle dys, bool retain_graph, bool create_graph, bool allow_unused) -> nb::any {
        const bool is_single = is_tensor(inputs.ptr());
        PyTypeObject* const type = is_single ? Py_TYPE(inputs.ptr()) : tensor_type;
        std::vector<Tensor> found =
            grad(one_or_more(ys), one_or_more(inputs), head_gradients(dys),
                 {.retain_graph = retain_graph, .create_graph = create_graph, .allow_unused = allow_unused}, here());
        nb::list results;
        for (Tensor& tensor : found) {
          results.append(tensor.defined() ? nb::steal(new_object(std::move(tensor), type)) : Object(nb::none()));
        }
        return nb::borrow<nb::any>(is_single ? Object(results[0]) : Object(results));
      },
      nb::arg("ys"), nb::arg("inputs"), nb::arg("dys") = nb::none(), nb::arg("retain_graph") = unchanged.retain_graph,
      nb::arg("create_graph") = unchanged.create_graph, nb::arg("allow_unused") = unchanged.allow_unused,
      "The gradients of sum(y * dy) over all ys with respect to the inputs: a tensor for one input, a list for a list. "
      "With create_graph they have gradients themselves. An input that is not used raises, or gives None with "
      "allow_unused.");
}

}  // namespace asyncgrad::python
