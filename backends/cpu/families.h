// The CPU's kernels, a family in each file; backend.cpp puts them together. Internal.
#pragma once

#include "asyncgrad/backends/element_types.h"
#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail {

// By operation.
namespace cpu_kernels {
extern const Kernel fill, arange, uniform, normal, randint, permutation, copy, matmul, dense, dense_grad, sum,
    sum_parts, sum_of_parts, prod, prod_parts, prod_of_parts, prod_grad, max, min, any, all, max_grad, argmax, argmin,
    argsort, cumsum, softmax, softmax_grad, log_softmax, log_softmax_grad, cross_entropy, cross_entropy_grad, ctc,
    ctc_grad, layer_norm, layer_norm_grad, group_norm, group_norm_grad, batch_norm, batch_norm_grad, conv, conv_input,
    conv_weight, max_pool, max_pool_grad, avg_pool, avg_pool_grad, dropout, attention, attention_grad, recurrent_cell,
    recurrent_cell_grad, strided_copy, concat, take, take_grad, gather, scatter_add, put, first_places,
    ravel_multi_index, one_hot, triangle, custom, source, collective, update, update_rows;
}  // namespace cpu_kernels

// By formula. Called once, before any thread runs one of them.
std::array<Kernel, formulas::count> elementwise_kernels();

// Backend::enter_thread and Backend::leave_thread.
std::uint64_t enter_cpu_thread();
void leave_cpu_thread(std::uint64_t previous);

}  // namespace asyncgrad::detail
