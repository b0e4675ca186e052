#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/core/backend/custom_kernel.h"

namespace asyncgrad::detail {

namespace {

constexpr Kernel by_program =
    custom_entry([](const KernelCall& call, int tile) { custom_kernel(call).run(CustomCall(call, tile, nullptr)); });

}  // namespace

constinit const Kernel cpu_kernels::custom = by_program;
constinit const Kernel cpu_kernels::source = by_program;

}  // namespace asyncgrad::detail
