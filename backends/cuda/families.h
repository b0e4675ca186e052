// The kernels of this backend, by family; backend.cpp puts them together. Internal.
#pragma once

#include "asyncgrad/backends/element_types.h"
#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail::cuda {

// By operation.
namespace kernels {
extern const Kernel fill, arange, uniform, normal, matmul, dense, dense_grad, sum, max, min, any, all, max_grad, argmax,
    argmin, softmax, softmax_grad, log_softmax, log_softmax_grad, cross_entropy, cross_entropy_grad, layer_norm,
    layer_norm_grad, ctc, ctc_grad, group_norm, group_norm_grad, cumsum, prod, prod_grad, first_places, update_rows,
    randint, permutation, argsort, batch_norm, batch_norm_grad, conv, conv_input, conv_weight, max_pool, max_pool_grad,
    avg_pool, avg_pool_grad, dropout, attention, attention_grad, recurrent_cell, recurrent_cell_grad, recurrent,
    recurrent_grad, strided_copy, concat, take, take_grad, gather, scatter_add, put, ravel_multi_index, one_hot,
    triangle, custom, update;
}  // namespace kernels

extern const Kernel elementwise_kernel;  // of every formula

// Copies within a device that change the type; queue.h has all others.
void convert(const KernelCall& call);

}  // namespace asyncgrad::detail::cuda
