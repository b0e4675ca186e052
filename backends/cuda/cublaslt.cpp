#include "asyncgrad/backends/cuda/cublaslt.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "asyncgrad/core/error.h"

namespace asyncgrad::detail::cuda {

namespace {

// Looks for the library by its name, as the system does, then where it was at the build.
void* open_library() {
  const std::string name = fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR);
  if (void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  if (void* const library = dlopen((ASYNCGRAD_CUDA_LIBRARIES "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL)) {
    return library;
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): of this thread, as glibc has it
  throw_error("cuda", fmt::format("{} cannot be loaded: {}", name, dlerror()));
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) throw_error("cuda", fmt::format("cuBLASLt has no {}", name));
}

CublasLt load() {
  void* const library = open_library();
  CublasLt lt{};
  find(library, "cublasLtGetStatusName", lt.get_status_name);
  find(library, "cublasLtCreate", lt.create);
  find(library, "cublasLtDestroy", lt.destroy);
  find(library, "cublasLtMatmul", lt.matmul);
  find(library, "cublasLtMatmulAlgoGetHeuristic", lt.matmul_algo_get_heuristic);
  find(library, "cublasLtMatmulDescCreate", lt.matmul_desc_create);
  find(library, "cublasLtMatmulDescDestroy", lt.matmul_desc_destroy);
  find(library, "cublasLtMatmulDescSetAttribute", lt.matmul_desc_set_attribute);
  find(library, "cublasLtMatrixLayoutCreate", lt.matrix_layout_create);
  find(library, "cublasLtMatrixLayoutDestroy", lt.matrix_layout_destroy);
  find(library, "cublasLtMatrixLayoutSetAttribute", lt.matrix_layout_set_attribute);
  find(library, "cublasLtMatmulPreferenceCreate", lt.matmul_preference_create);
  find(library, "cublasLtMatmulPreferenceDestroy", lt.matmul_preference_destroy);
  find(library, "cublasLtMatmulPreferenceSetAttribute", lt.matmul_preference_set_attribute);
  return lt;
}

}  // namespace

const CublasLt& cublaslt() {
  static const CublasLt lt = load();
  return lt;
}

}  // namespace asyncgrad::detail::cuda
