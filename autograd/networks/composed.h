// Operations that have kernels of their own, composed of elementary operations: what gradients of gradients are taken
// of, and what tests compare the kernels with. Arguments are those of the operations and have been checked. Internal.
#pragma once

#include <functional>
#include <span>

#include "asyncgrad/autograd/attention.h"
#include "asyncgrad/autograd/networks/recurrent.h"
#include "asyncgrad/autograd/norm.h"
#include "asyncgrad/autograd/tape/node.h"

namespace asyncgrad::detail {

Tensor composed_layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const NormOptions& options);
Tensor composed_rms_norm(const Tensor& x, const Tensor& weight, const NormOptions& options);
Tensor composed_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options);
Tensor composed_recurrent(const RecurrentCall& call);

// For a backward function whose kernel has no gradient, where gradients are recorded: sets those of the operation of
// which form(inputs) is the composed form. `inputs` are in the order of the operation's, as read_input() gives them.
void differentiate(Gradients& gradients, std::span<const Tensor> inputs, const Tensor& dy,
                   const std::function<Tensor(std::span<const Tensor>)>& form);

}  // namespace asyncgrad::detail
