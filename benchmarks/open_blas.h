// The OpenBLAS in numpy's package from PyPI, which numpy multiplies with, called without Python.
#pragma once

#include <dlfcn.h>
#include <glob.h>

#include <cstdint>

namespace asyncgrad::benchmarks {

// Computes on all cores. Its threads spin for more than a tenth of a second after a product.
class OpenBlas {
 public:
  // `pattern`: where the library is; the first file that matches is taken.
  explicit OpenBlas(const char* pattern) {
    glob_t found{};
    if (glob(pattern, 0, nullptr, &found) == 0) {
      if (void* const library = dlopen(found.gl_pathv[0], RTLD_NOW | RTLD_LOCAL)) {
        sgemm_ = reinterpret_cast<Sgemm*>(dlsym(library, "scipy_cblas_sgemm64_"));
      }
    }
    globfree(&found);
  }
  bool is_there() const { return sgemm_ != nullptr; }

  // out = x w, all of them n x n.
  void multiply(std::int64_t n, const float* x, const float* w, float* out) const {
    constexpr int row_major = 101, as_it_is = 111;
    sgemm_(row_major, as_it_is, as_it_is, n, n, n, 1, x, n, w, n, 0, out, n);
  }

 private:
  using Sgemm = void(int, int, int, std::int64_t, std::int64_t, std::int64_t, float, const float*, std::int64_t,
                     const float*, std::int64_t, float, float*, std::int64_t);
  Sgemm* sgemm_ = nullptr;
};

}  // namespace asyncgrad::benchmarks
