// The kernels of this backend, by family; backend.cpp puts them together. Internal.
#pragma once

#include "asyncgrad/backends/element_types.h"
#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail::cuda {

void add_custom_kernels(Backend& backend);
void add_elementwise_kernels(Backend& backend);
void add_fill_kernels(Backend& backend);  // fill, arange
void add_indexing_kernels(Backend& backend);
void add_product_kernels(Backend& backend);  // matmul, dense, dense_grad
void add_random_kernels(Backend& backend);
void add_reduce_kernels(Backend& backend);
void add_softmax_kernels(Backend& backend);
void add_strided_copy_kernels(Backend& backend);  // strided_copy, concat
void add_update_kernels(Backend& backend);        // sgd, adam, adagrad, rmsprop

// Copies within a device that change the type; queue.h has all others.
void convert(const KernelCall& call);

}  // namespace asyncgrad::detail::cuda
