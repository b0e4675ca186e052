// The stream of a device that the engine's own threads compute for. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/core/engine/schedule/executor.h"

namespace asyncgrad::detail {

// A device of the CPU has one for its operations and, beside other devices, one for copies to it.
class Pool final : public Stream {
 public:
  using Stream::Stream;

  // Work.
  bool run_one(Turn& turn) override;

 private:
  bool run_own(Turn& turn);
  bool set_aside(Turn& turn);
  bool run_first(Turn& turn, std::size_t skip);
  bool is_to_run(const Operation& operation, std::uint64_t number) const;
  bool is_ready(const Operation& operation, std::uint64_t number) const;
  bool claim(Operation& operation, std::uint64_t number);
  Outcome try_run(std::uint64_t number, Turn& turn);
  Outcome start(Operation& operation, bool is_member, Turn& turn);
  void open(Operation& operation);
  void run_tile_of(Operation& operation, int tile, Turn& turn);
};

}  // namespace asyncgrad::detail
