#include <set>

#include "tests/backends/cuda/both_backends.h"

namespace asyncgrad::detail {

namespace {

// Operations that only the CPU has.
const std::set<Op> missing = {
    Op::cumsum,        Op::layer_norm,     Op::layer_norm_grad, Op::dropout,
    Op::attention,     Op::attention_grad, Op::batch_norm,      Op::batch_norm_grad,
    Op::conv,          Op::conv_input,     Op::conv_weight,     Op::max_pool,
    Op::max_pool_grad, Op::avg_pool,       Op::avg_pool_grad,   Op::source,
};

TEST(CudaBackend, HasAKernelForEveryOtherOperation) {
  const Backend& backend = cuda_backend();
  for (int op = 0; op < op_count; ++op) {
    if (op == static_cast<int>(Op::elementwise)) continue;
    const bool has_kernel = backend.kernels[static_cast<std::size_t>(op)].run != nullptr;
    EXPECT_NE(has_kernel, missing.contains(static_cast<Op>(op))) << op_name(static_cast<Op>(op), nullptr);
  }
  for (const Kernel& kernel : backend.elementwise) EXPECT_NE(kernel.run, nullptr);
}

}  // namespace

}  // namespace asyncgrad::detail
