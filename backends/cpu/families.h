// The families of the CPU's kernels, one in each file. Internal.
#pragma once

#include <type_traits>

#include "asyncgrad/backends/element_types.h"
#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail {

// The loops of a family for T, float or double, which it has for the best instruction set that this processor has.
template <class T, template <class> class Loops>
const Loops<T>& loops_for(const Loops<float>& (*float32)(), const Loops<double>& (*float64)()) {
  if constexpr (std::is_same_v<T, float>) {
    return float32();
  } else {
    return float64();
  }
}

// Each function enters the kernels of its family into the table.
void add_adagrad_kernels(Backend& backend);
void add_adam_kernels(Backend& backend);
void add_custom_kernels(Backend& backend);
void add_attention_kernels(Backend& backend);
void add_batch_norm_kernels(Backend& backend);
void add_conv_kernels(Backend& backend);
void add_cumsum_kernels(Backend& backend);
void add_dropout_kernels(Backend& backend);
void add_elementwise_kernels(Backend& backend);
void add_fill_kernels(Backend& backend);  // fill, arange, copy
void add_indexing_kernels(Backend& backend);
void add_norm_kernels(Backend& backend);  // layer_norm, rms_norm
void add_pool_kernels(Backend& backend);
void add_random_kernels(Backend& backend);
void add_recurrent_kernels(Backend& backend);
void add_reduce_kernels(Backend& backend);
void add_rmsprop_kernels(Backend& backend);
void add_sgd_kernels(Backend& backend);
void add_softmax_kernels(Backend& backend);
void add_strided_copy_kernels(Backend& backend);  // strided_copy, concat

// Backend::enter_thread and Backend::leave_thread.
std::uint64_t enter_cpu_thread();
void leave_cpu_thread(std::uint64_t previous);

}  // namespace asyncgrad::detail
