#include "tests/backends/cuda/both_backends.h"

namespace asyncgrad::detail {

namespace {

TEST(CudaBackend, HasAKernelForEveryOperation) {
  const Backend& backend = cuda_backend();
  for (int op = 0; op < op_count; ++op) {
    if (op == static_cast<int>(Op::elementwise)) continue;
    EXPECT_NE(backend.kernels[static_cast<std::size_t>(op)].run, nullptr) << op_name(static_cast<Op>(op), nullptr);
  }
  for (const Kernel& kernel : backend.elementwise) EXPECT_NE(kernel.run, nullptr);
}

}  // namespace

}  // namespace asyncgrad::detail
