// cuBLASLt. It has half a gigabyte and is loaded at first use, so that programs without products on a GPU do not wait
// for it. Internal.
#pragma once

#include <cublasLt.h>

#include <memory>
#include <type_traits>

namespace asyncgrad::detail::cuda {

// The functions of cuBLASLt that are used, under their own names.
struct CublasLt {
  decltype(&cublasLtGetStatusName) get_status_name;
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtDestroy) destroy;
  decltype(&cublasLtMatmul) matmul;
  decltype(&cublasLtMatmulAlgoGetHeuristic) matmul_algo_get_heuristic;
  decltype(&cublasLtMatmulDescCreate) matmul_desc_create;
  decltype(&cublasLtMatmulDescDestroy) matmul_desc_destroy;
  decltype(&cublasLtMatmulDescSetAttribute) matmul_desc_set_attribute;
  decltype(&cublasLtMatrixLayoutCreate) matrix_layout_create;
  decltype(&cublasLtMatrixLayoutDestroy) matrix_layout_destroy;
  decltype(&cublasLtMatrixLayoutSetAttribute) matrix_layout_set_attribute;
  decltype(&cublasLtMatmulPreferenceCreate) matmul_preference_create;
  decltype(&cublasLtMatmulPreferenceDestroy) matmul_preference_destroy;
  decltype(&cublasLtMatmulPreferenceSetAttribute) matmul_preference_set_attribute;
};

// Throws Error if the library cannot be loaded. Any thread may call it.
const CublasLt& cublaslt();

// A handle that one function makes and another destroys.
template <auto end>
struct EndOfCublasLt {
  template <class T>
  void operator()(T* made) const {
    (cublaslt().*end)(made);
  }
};
template <class Pointer, auto end>
using OfCublasLt = std::unique_ptr<std::remove_pointer_t<Pointer>, EndOfCublasLt<end>>;

}  // namespace asyncgrad::detail::cuda
