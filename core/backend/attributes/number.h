// The common properties of all attributes of operations. Internal.
#pragma once

#include <cstddef>
#include <cstdint>

namespace asyncgrad::detail {

// A number in the type of its tensor.
union Number {
  double floating;
  std::int64_t integer;
};

// Attributes are what an operation has beside its operands. They have at most this many bytes. There is no padding, so
// equal attributes are equal byte by byte.
inline constexpr std::size_t max_attribute_bytes = 64;

}  // namespace asyncgrad::detail
