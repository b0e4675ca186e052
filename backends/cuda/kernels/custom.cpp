#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/launch.h"
#include "asyncgrad/core/backend/custom_kernel.h"

namespace asyncgrad::detail::cuda {

constinit const Kernel kernels::custom = [] {
  Kernel entry = custom_entry([](const KernelCall& call, int tile) {
    custom_kernel(call).run_on_cuda(CustomCall(call, tile, stream_of(call)));
  });
  entry.tiles = nullptr;  // the stream gets the whole operation at once
  return entry;
}();

}  // namespace asyncgrad::detail::cuda
