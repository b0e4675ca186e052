// The stream of a device that the engine's own threads compute for. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/core/engine/stream.h"

namespace asyncgrad::detail {

// A device of the CPU has one for its operations and, beside other devices, one for copies to it.
class Pool final : public Stream {
 public:
  using Stream::Stream;

  // Work.
  bool run_one(Turn& turn) override;

 private:
  bool run_first(Turn& turn, std::size_t skip);
  // `next`: an operation that became ready on the way and that nobody is told of, as the calling thread goes on with
  // it: the oldest of all. 0: none.
  Outcome try_run(std::uint64_t number, std::uint64_t& next);
  Outcome start(Operation& operation, bool is_member, std::uint64_t& next);
  void open(Operation& operation);
  void run_tile_of(Operation& operation, int tile, std::uint64_t& next);
};

}  // namespace asyncgrad::detail
