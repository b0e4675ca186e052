// Operations that have kernels of their own, composed of elementary operations: what gradients of gradients are taken
// of, and what tests compare the kernels with. Arguments are those of the operations and have been checked. Internal.
#pragma once

#include "asyncgrad/autograd/attention.h"
#include "asyncgrad/autograd/norm.h"
#include "asyncgrad/autograd/recurrent.h"

namespace asyncgrad::detail {

Tensor composed_layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const NormOptions& options);
Tensor composed_rms_norm(const Tensor& x, const Tensor& weight, const NormOptions& options);
Tensor composed_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options);
Tensor composed_recurrent(const RecurrentCall& call);

}  // namespace asyncgrad::detail
