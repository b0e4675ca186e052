// cuBLASLt, loaded at first use: half a gigabyte, which programs that multiply nothing on a device need not wait for.
// Internal.
#pragma once

#include <cublasLt.h>

namespace asyncgrad::detail::cuda {

// What of it is used, under its own names.
struct CublasLt {
  decltype(&cublasLtGetStatusName) get_status_name;
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtMatmul) matmul;
  decltype(&cublasLtMatmulAlgoGetHeuristic) matmul_algo_get_heuristic;
  decltype(&cublasLtMatmulDescCreate) matmul_desc_create;
  decltype(&cublasLtMatmulDescSetAttribute) matmul_desc_set_attribute;
  decltype(&cublasLtMatrixLayoutCreate) matrix_layout_create;
  decltype(&cublasLtMatmulPreferenceCreate) matmul_preference_create;
  decltype(&cublasLtMatmulPreferenceDestroy) matmul_preference_destroy;
  decltype(&cublasLtMatmulPreferenceSetAttribute) matmul_preference_set_attribute;
};

// Throws Error if the library cannot be loaded. Any thread may call it.
const CublasLt& cublaslt();

}  // namespace asyncgrad::detail::cuda
