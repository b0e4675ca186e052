#include "tests/backends/cpu/kernel_runner.h"

namespace asyncgrad::detail {

namespace {

TEST(CpuBackend, HasAKernelForEveryOperation) {
  const Backend& backend = cpu_backend();
  for (int op = 0; op < op_count; ++op) {
    if (op == static_cast<int>(Op::elementwise)) continue;
    const bool is_made_of_others = op == static_cast<int>(Op::recurrent) || op == static_cast<int>(Op::recurrent_grad);
    EXPECT_EQ(backend.kernels[static_cast<std::size_t>(op)].run == nullptr, is_made_of_others)
        << op_name(static_cast<Op>(op), nullptr);
  }
  for (const Kernel& kernel : backend.elementwise) EXPECT_NE(kernel.run, nullptr);
}

TEST(CpuBackend, IsMadeOnce) { EXPECT_EQ(make_backend(DeviceType::cpu), make_backend(DeviceType::cpu)); }

}  // namespace

}  // namespace asyncgrad::detail
