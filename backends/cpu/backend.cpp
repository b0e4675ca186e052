#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/products/matmul.h"

namespace asyncgrad::detail {

const Backend* make_cpu_backend();  // called by make_backend.cpp

namespace {

Backend make_table() {
  Backend backend;
  backend.name = "cpu";
  backend.enter_thread = enter_cpu_thread;
  backend.leave_thread = leave_cpu_thread;
  add_adagrad_kernels(backend);
  add_adam_kernels(backend);
  add_custom_kernels(backend);
  add_attention_kernels(backend);
  add_batch_norm_kernels(backend);
  add_conv_kernels(backend);
  add_cumsum_kernels(backend);
  add_dropout_kernels(backend);
  add_elementwise_kernels(backend);
  add_fill_kernels(backend);
  add_indexing_kernels(backend);
  add_matmul_kernels(backend);
  add_norm_kernels(backend);
  add_pool_kernels(backend);
  add_random_kernels(backend);
  add_recurrent_kernels(backend);
  add_reduce_kernels(backend);
  add_rmsprop_kernels(backend);
  add_sgd_kernels(backend);
  add_softmax_kernels(backend);
  add_strided_copy_kernels(backend);
  return backend;
}

}  // namespace

const Backend* make_cpu_backend() {
  static const Backend backend = make_table();
  return &backend;
}

}  // namespace asyncgrad::detail
