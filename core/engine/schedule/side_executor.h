// The executor of what runs beside the computing: copies between devices, and sources. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/core/engine/schedule/cpu_executor.h"

namespace asyncgrad::detail {

// Its operations may take long without needing a core. So that other operations can take memory meanwhile, f of each
// device steps over them as soon as they have begun: see "When an operation may take memory" in docs/engine.md.
class SideExecutor : public CpuExecutor {
 public:
  using CpuExecutor::CpuExecutor;

 protected:
  void begin(Operation& operation) final;
  void end(Operation& operation, Failure* failure, Turn& turn) final;
};

// A source may sleep or take a lock. A thread that queues must not do that while it holds the front end's lock.
class SourceExecutor final : public SideExecutor {
 public:
  using SideExecutor::SideExecutor;
  bool may_compute_at_call() const override { return false; }
};

}  // namespace asyncgrad::detail
