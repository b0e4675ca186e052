#include "asyncgrad/core/engine/device/slow_link.h"

#include <chrono>
#include <thread>

namespace asyncgrad::detail {

void SlowLink::run_parts(Operation& operation, int tile) {
  using Seconds = std::chrono::duration<double>;
  const View& result = operation.invocation.views[0];
  const auto bytes = static_cast<double>(result.shape.numel()) * static_cast<double>(size_bytes(result.dtype));
  const auto end =
      std::chrono::steady_clock::now() + Seconds(bytes / operation.tiles / static_cast<double>(bytes_per_second_));
  CpuExecutor::run_parts(operation, tile);
  std::this_thread::sleep_until(end);
}

}  // namespace asyncgrad::detail
