#include "tests/backends/cuda/both_backends.h"

namespace asyncgrad::detail {

namespace {

TEST(CudaBackend, HasAKernelForEveryFormula) {
  for (const Kernel& kernel : cuda_backend().elementwise) EXPECT_NE(kernel.run, nullptr);
}

}  // namespace

}  // namespace asyncgrad::detail
