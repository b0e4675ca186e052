// Copies of the records of unfinished operations, for pictures and reports. Internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "asyncgrad/core/engine/ring/ring.h"

namespace asyncgrad::detail {

// The storage may be gone: it serves as a name only.
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
  Progress progress{};  // as the record's word has it
  int tiles = 1;
};

// At most `most` operations from f on, in the order of the program, whose next number is `next`. Under the front end's
// lock: no record is used again meanwhile, and nothing but the atomics changes in one.
std::vector<PendingOperation> pending_in(const Ring& ring, std::uint64_t next, std::size_t most);

// For each of the operations, which are all that are unfinished and older than the last of them: the numbers of those
// that it waits for.
std::vector<std::vector<std::uint64_t>> predecessors_of(const std::vector<PendingOperation>& operations);

}  // namespace asyncgrad::detail
