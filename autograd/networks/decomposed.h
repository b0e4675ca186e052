// Operations that have kernels of their own, written as elementary operations: gradients of gradients are taken of
// these forms, and tests compare the kernels with them. Arguments are those of the operations and have been checked.
// Internal.
#pragma once

#include <functional>
#include <span>

#include "asyncgrad/autograd/attention.h"
#include "asyncgrad/autograd/networks/recurrent.h"
#include "asyncgrad/autograd/norm.h"
#include "asyncgrad/autograd/tape/backward_function.h"

namespace asyncgrad::detail {

Tensor decomposed_layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const NormOptions& options);
Tensor decomposed_rms_norm(const Tensor& x, const Tensor& weight, const NormOptions& options);
Tensor decomposed_group_norm(const Tensor& x, std::int64_t groups, const Tensor& weight, const Tensor& bias,
                             double epsilon);
Tensor decomposed_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options);
Tensor decomposed_recurrent(const RecurrentCall& call);
// The arguments of ctc() beside the probabilities, in int64.
struct CtcTargets {
  Tensor targets, input_lengths, target_lengths;
};
Tensor decomposed_ctc(const Tensor& log_probabilities, const CtcTargets& targets, std::int64_t blank);

// Sets the gradients of an operation by its decomposed form, form(inputs). For a backward function whose kernel has no
// gradient, where gradients are recorded. `inputs` are in the order of the operation's inputs, as read_input() gives
// them.
void differentiate(Gradients& gradients, std::span<const Tensor> inputs, const Tensor& dy,
                   const std::function<Tensor(std::span<const Tensor>)>& form);

}  // namespace asyncgrad::detail
