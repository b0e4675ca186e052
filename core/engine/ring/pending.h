// Copies of the entries of unfinished operations, for pictures and reports. Internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "asyncgrad/core/engine/ring/ring.h"

namespace asyncgrad::detail {

// The storage may have ended; its address only serves as a name.
struct PendingOperand {
  const Storage* storage = nullptr;
  Shape shape;
  DType dtype{};
  Access access{};
};

struct PendingOperation {
  std::uint64_t number = 0;
  bool is_finished = false;
  Op op{};
  alignas(16) std::array<std::byte, max_attribute_bytes> attributes{};
  std::vector<PendingOperand> operands{};
  Origin origin{};
  Progress progress{};  // as the entry's word has it
  int tiles = 1;
};

// Copies at most `max_count` operations from f on, in the order of the program. `next`: the program's next number.
// Under the front end's lock: no entry is used again meanwhile, and nothing but the atomics changes in one.
std::vector<PendingOperation> pending_in(const Ring& ring, std::uint64_t next, std::size_t max_count);

// The numbers of the unfinished operations whose memory is a device's, and of copies from it, in their order. Under the
// front end's lock.
std::vector<std::uint64_t> unfinished_on(const DeviceState& device, const Ring& ring, std::uint64_t next);

// Returns for each operation the numbers of those that it waits for. `operations`: all unfinished ones up to the last
// of them.
std::vector<std::vector<std::uint64_t>> predecessors_of(const std::vector<PendingOperation>& operations);

}  // namespace asyncgrad::detail
