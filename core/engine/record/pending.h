// Copies of the records of unfinished operations, for pictures. Internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "asyncgrad/core/engine/record/operation.h"

namespace asyncgrad::detail {

// Its storages may be gone: they serve as names only.
struct PendingOperation {
  std::uint64_t number = 0;
  bool is_finished = false;
  Op op{};
  alignas(16) std::array<std::byte, max_attribute_bytes> attributes{};
  std::vector<Operand> operands{};
};

}  // namespace asyncgrad::detail
