#include "asyncgrad/backends/cuda/cublaslt.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

#include "asyncgrad/core/error.h"

namespace asyncgrad::detail::cuda {

namespace {

// The folder of the library or program that this is a part of.
std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) return ".";
  const std::string file = info.dli_fname;
  const std::size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

// Looks for the library by its name, as the system does, then in Nvidia's packages from PyPI beside the Python package,
// then where it was at the build.
void* open_library() {
  const std::string name = fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR), packages = own_folder() + "/../nvidia/";
  std::string failure;
  for (const std::string& folder : {std::string(), packages + fmt::format("cu{}/lib/", CUBLAS_VER_MAJOR),
                                    packages + "cublas/lib/", std::string(ASYNCGRAD_CUDA_LIBRARIES "/")}) {
    if (void* const library = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): of this thread, as glibc has it
    if (failure.empty()) failure = dlerror();
  }
  throw_error("cuda",
              fmt::format("{} cannot be loaded, which CUDA's Toolkit or the Python package nvidia-cublas has: {}", name,
                          failure));
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
