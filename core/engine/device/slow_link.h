// The simulated slow link of EngineOptions::copy_bytes_per_second. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/core/engine/schedule/side_executor.h"

namespace asyncgrad::detail {

// Copies as a CpuExecutor does, and sleeps after each tile for what is left of the time that the link takes. A call
// computes none of them itself, as it would sleep with the front end's lock.
class SlowLink final : public SideExecutor {
 public:
  SlowLink(const ExecutorContext& context, DeviceState& device, bool by_arrival, std::int64_t bytes_per_second)
      : SideExecutor(context, device, by_arrival), bytes_per_second_(bytes_per_second) {}

  bool may_compute_at_call() const override { return false; }

 private:
  void run_parts(Operation& operation, int tile) override;

  const std::int64_t bytes_per_second_;
};

}  // namespace asyncgrad::detail
