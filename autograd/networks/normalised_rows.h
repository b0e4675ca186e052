// The operations that normalise rows, layer_norm, rms_norm and group_norm, and their gradients. Internal.
#pragma once

#include <utility>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/networks/decomposed.h"
#include "asyncgrad/autograd/networks/normalisation.h"
#include "asyncgrad/autograd/reduce.h"
#include "asyncgrad/autograd/tape/operation_node.h"

namespace asyncgrad::detail {

// The backward function. It needs x, the rows' statistics and the weight. Form has everything in which the operations
// differ:
//   attributes         those of the operation and of its gradient
//   op, gradient_op
//   rows()             how many rows have statistics
//   parts()            the shape of the gradients of weight and bias as the kernel gives them, to be summed over axis 0
//   decomposed(x, weight, bias)
template <class Form>
class NormalisedRowsBackward {
 public:
  NormalisedRowsBackward(const Form& form, const Tensor& x, const Tensor& statistics, const Tensor& weight)
      : form_(form), x_(x), statistics_(statistics), weight_(save(weight, weight.defined())) {}

  void operator()(const Tensor& dy, Gradients& gradients) const {
    if (gradients.are_recorded()) return differentiate_decomposed(dy, gradients);
    const Tensor weight = form_.attributes.has_weight ? gradients.read(weight_) : Tensor();
    NormalisationGradients results = queue_normalisation_grad(Form::gradient_op, form_.attributes, gradients.read(x_),
                                                              gradients.read(statistics_), dy, weight, form_.parts());
    gradients(0, [&] { return std::move(results.dx); });
    gradients(1, [&] { return together(results.dweight, gradients.shape(1)); });
    gradients(2, [&] { return together(results.dbias, gradients.shape(2)); });
  }

 private:
  void differentiate_decomposed(const Tensor& dy, Gradients& gradients) const {
    const Tensor weight = form_.attributes.has_weight ? gradients.read_input(weight_, 1) : Tensor();
    // The gradients do not depend on the bias, which was not saved.
    const TensorOptions alike{.dtype = dy.dtype(), .device = dy.device()};
    const Tensor bias = gradients.wants(2) ? parameter(zeros(gradients.shape(2), alike)) : Tensor();
    const Tensor inputs[] = {gradients.read_input(x_, 0), weight, bias};
    differentiate(gradients, inputs, dy,
                  [&](std::span<const Tensor> in) { return form_.decomposed(in[0], in[1], in[2]); });
  }
  static Tensor together(const Tensor& parts, const Shape& shape) {
    return make_view(parts.size(0) == 1 ? parts : sum(parts, 0), shape);
  }

  Form form_;
  SavedTensor x_, statistics_, weight_;
};

template <class Form>
Tensor normalised_rows(const char* operation, const Form& form, const Arg& x, const Tensor& weight,
                       const Tensor& bias) {
  const Tensor statistics = make_like(x, {2, form.rows()});
  Tensor y = queue_normalisation(Form::op, form.attributes, x, writes(statistics), weight, bias);
  if (records(x, weight, bias)) {
    record(Recorded(Form::op).as(operation), x.where(), y, {x, weight, bias},
           differentiable(NormalisedRowsBackward<Form>(form, x, statistics, weight)));
  }
  return y;
}

}  // namespace asyncgrad::detail
