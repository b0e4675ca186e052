// Matrix products and other sums of products.
#include <algorithm>

#include "call.h"
#include "conversion.h"
#include "errors.h"
#include "functions.h"
#include "module.h"
#include "tensor.h"

namespace asyncgrad::python {

void bind_products(nb::module_& m, TensorClass& c) {
  const auto product = [](Handle x, Handle w, bool transpose_x, bool transpose_w) {
    const Call call(x);
    return call.result(matmul(call.arg(tensor_from(x)), call.arg(tensor_from(w)),
                              {.transpose_x = transpose_x, .transpose_w = transpose_w}));
  };
  both(m, c, "matmul", product,
       "The matrix product (..., N, I) (..., I, O) -> (..., N, O); operands may be read transposed without a copy.",
       nb::arg("w"), nb::arg("transpose_x") = MatmulOptions{}.transpose_x,
       nb::arg("transpose_w") = MatmulOptions{}.transpose_w);
  m.def(
      "einsum",
      [](const std::string& equation, const nb::args& operands) {
        const auto tensor = std::ranges::find_if(operands, [](Handle x) { return is_tensor(x.ptr()); });
        const Call call(tensor == operands.end() ? Handle(Py_None) : *tensor);
        std::vector<Tensor> tensors;
        for (const Handle operand : operands) tensors.push_back(tensor_from(operand));
        return call.result(einsum(equation, tensors, call.where()));
      },
      nb::arg("equation"), nb::arg("operands"),
      "The sum of products that an equation names, as numpy.einsum: \"ij,jk->ik\" is the matrix product. Axes of one "
      "letter have one extent; a letter that a term has twice takes the diagonal; \"...\" stands for any axes, which "
      "are broadcast.");
  m.def(
      "tensordot",
      [](Handle x, Handle y, Handle axes) {
        const Call call(x);
        const Tensor a = tensor_from(x), b = tensor_from(y);
        if (PyLong_Check(axes.ptr())) return call.result(tensordot(call.arg(a), call.arg(b), axis_from(axes)));
        if (!nb::isinstance<nb::sequence>(axes) || nb::len(axes) != 2)
          throw_type_error("axes is a number, or a pair of axes of x and of y");
        const auto of = [&](int operand) { return axes_of(axes_from(axes[operand]).value_or(std::vector<int>())); };
        return call.result(tensordot(call.arg(a), call.arg(b), of(0), of(1)));
      },
      nb::arg("x"), nb::arg("y"), nb::arg("axes") = 2,
      "The sum of products over the last `axes` axes of x and the first ones of y, or over a pair of axes, or of lists "
      "of them: those of x, and those of y.");
  m.def(
      "dense",
      [](Handle x, Handle weight, Handle bias, Handle activation) {
        const Call call(x);
        const Tensor offset = tensor_or_none(bias);
        const Activation function =
            activation.is_none() ? nullptr : nn::activation_named("dense", nb::cast<std::string>(nb::str(activation)));
        return call.result(dense(call.arg(tensor_from(x)), call.arg(tensor_from(weight)), offset, function));
      },
      nb::arg("x"), nb::arg("weight"), nb::arg("bias") = nb::none(), nb::arg("activation") = nb::none(),
      "activation(x weight + bias): x (..., I), weight (I, O), bias (O) -> (..., O). The activation is a "
      "name or None.");
}

}  // namespace asyncgrad::python
