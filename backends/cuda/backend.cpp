#include "asyncgrad/backends/cuda/families.h"

namespace asyncgrad::detail {

const Backend* make_cuda_backend();  // called by make_backend.cpp

namespace {

Backend make_table() {
  Backend backend;
  backend.name = "cuda";
  cuda::add_elementwise_kernels(backend);
  cuda::add_fill_kernels(backend);
  cuda::add_indexing_kernels(backend);
  cuda::add_product_kernels(backend);
  cuda::add_random_kernels(backend);
  cuda::add_reduce_kernels(backend);
  cuda::add_softmax_kernels(backend);
  cuda::add_transpose_kernels(backend);
  cuda::add_update_kernels(backend);
  return backend;
}

}  // namespace

const Backend* make_cuda_backend() {
  static const Backend backend = make_table();
  return &backend;
}

}  // namespace asyncgrad::detail
