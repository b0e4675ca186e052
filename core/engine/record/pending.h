// Copies of the records of unfinished operations, for pictures. Internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "asyncgrad/core/engine/record/operation.h"

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
};

}  // namespace asyncgrad::detail
