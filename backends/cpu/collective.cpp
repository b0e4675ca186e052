#include "asyncgrad/core/backend/attributes/collective.h"
#include "asyncgrad/backends/cpu/families.h"

namespace asyncgrad::detail {

// The cost is that of a long operation, however few values there are, because it waits for other processes.
constinit const Kernel cpu_kernels::collective = {
    .run = [](const KernelCall& call, int) { call.attributes<CollectiveAttributes>().part->run(call); },
    .cost = [](const KernelCall&) { return std::int64_t{1} << 20; }};

}  // namespace asyncgrad::detail
