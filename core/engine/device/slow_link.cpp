#include "asyncgrad/core/engine/device/slow_link.h"

#include <chrono>
#include <thread>

#include "asyncgrad/core/engine/engine.h"

namespace asyncgrad::detail {

namespace {

void run(const KernelCall& call, int) {
  using Seconds = std::chrono::duration<double>;
  const auto bytes = static_cast<double>(call.numel(0)) * static_cast<double>(size_bytes(call.dtype(0)));
  const auto bytes_per_second = static_cast<double>(Engine::get().options().copy_bytes_per_second);
  const auto end = std::chrono::steady_clock::now() + Seconds(bytes / bytes_per_second);
  const Kernel& copy = make_backend(DeviceType::cpu)->kernels[static_cast<std::size_t>(Op::copy)];
  const int tiles = copy.tiles == nullptr ? 1 : copy.tiles(call);
  for (int tile = 0; tile < tiles; ++tile) copy.run(call, tile);
  std::this_thread::sleep_until(end);
}

// Never at the call, where the front end's lock is held.
std::int64_t cost(const KernelCall&) { return INT64_MAX; }

}  // namespace

const Kernel& slow_copy() {
  static constexpr Kernel kernel = {.run = run, .cost = cost};
  return kernel;
}

}  // namespace asyncgrad::detail
