#include "asyncgrad/backends/cuda/families.h"

namespace asyncgrad::detail {

const Backend* make_cuda_backend();  // called by make_backend.cpp

namespace {

Backend make_table() {
  Backend backend;
  backend.name = "cuda";
  cuda::add_fill_kernels(backend);
  return backend;
}

}  // namespace

const Backend* make_cuda_backend() {
  static const Backend backend = make_table();
  return &backend;
}

}  // namespace asyncgrad::detail
