// The attributes of elementwise operations. Internal.
#pragma once

#include <array>
#include <cstdint>

#include "asyncgrad/core/backend/attributes/number.h"

namespace asyncgrad::detail {

struct ElementwiseAttributes {
  std::uint8_t formula = 0;      // formulas::id
  std::uint8_t scalar_mask = 0;  // bit i: input i is scalars[i], not an operand; never all inputs
  std::array<std::uint8_t, 6> padding{};
  std::array<Number, 3> scalars{};
};

}  // namespace asyncgrad::detail
