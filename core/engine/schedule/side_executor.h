// The executor of what runs beside the computing: copies between devices, sources and collectives. Internal.
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

// Collectives, which wait for other processes. Those wait for this one, so that an operation that cannot run takes part,
// too. The operations of one process write a common operand, its token, and so run in the order of the program.
class CollectiveExecutor final : public SideExecutor {
 public:
  using SideExecutor::SideExecutor;
  bool may_compute_at_call() const override { return false; }

 protected:
  void miss(Operation& operation, Failure& failure, Turn& turn) override;
};

}  // namespace asyncgrad::detail
