// The executor of a device for which the engine's own threads compute. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/core/engine/schedule/executor.h"

namespace asyncgrad::detail {

// A device of the CPU has one for its operations and, if there are other devices, one for copies to it.
class CpuExecutor : public Executor {
 public:
  using Executor::Executor;

  // Work.
  bool run_one(Turn& turn) override;

 protected:
  // Runs those parts of the kernel that a tile of the operation stands for.
  virtual void run_parts(Operation& operation, int tile);
  // Around the run of an operation that has its memory: before its first tile, and in place of complete().
  virtual void begin(Operation& /*operation*/) {}
  virtual void end(Operation& operation, Failure* failure, Turn& turn) { complete(operation, failure, true, turn); }

 private:
  Outcome try_run(std::uint64_t number, bool is_offered, Turn& turn);
  bool claim(Operation& operation, std::uint64_t number) const;
  Outcome join(Operation& operation, std::uint64_t number, Turn& turn);
  Outcome start(Operation& operation, bool is_offered, Turn& turn);
  void open(Operation& operation);
  // The operation's failure if it has made a NaN, of which the caller has a share.
  Failure* look_for_nan(const Operation& operation);
  void run_and_complete(Operation& operation, int tile, Turn& turn);
};

}  // namespace asyncgrad::detail
