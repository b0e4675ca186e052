// The executor of a device for which the engine's own threads compute. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/core/engine/schedule/executor.h"

namespace asyncgrad::detail {

// Each part of the CPU has one for its operations and, if there are other devices, one for copies to it.
class CpuExecutor : public Executor {
 public:
  using Executor::Executor;

  // Work.
  bool run_one(Turn& turn) override;
  bool run_brief_awaited(Turn& turn) override;
  bool run_one_tile(Turn& turn) override;

 protected:
  // Called for an operation that has its memory: before its first tile, and in place of complete().
  virtual void begin(Operation& /*operation*/) {}
  // Called in place of all these for an operation that cannot run.
  virtual void miss(Operation& operation, Failure& failure, Turn& turn) { complete(operation, &failure, false, turn); }
  virtual void end(Operation& operation, Failure* failure, Turn& turn) { complete(operation, failure, true, turn); }

 private:
  bool run_awaited(Turn& turn);
  bool find_and_run_awaited(Turn& turn, bool only_brief);
  Help help_of(std::uint64_t number) const;
  Outcome try_run(std::uint64_t number, bool is_offered, Turn& turn);
  bool claim(Operation& operation, std::uint64_t number) const;
  Outcome join(Operation& operation, std::uint64_t number, Turn& turn);
  Outcome start(Operation& operation, bool is_offered, Turn& turn);
  int open(Operation& operation);
  // Returns a failure, of which the caller has a share, if the operation has made a NaN; else null.
  Failure* look_for_nan(const Operation& operation);
  // Runs the parts of the kernel that belong to one tile of the operation.
  static void run_parts(Operation& operation, int tile);
  void run_and_complete(Operation& operation, int tile, Turn& turn);
};

}  // namespace asyncgrad::detail
