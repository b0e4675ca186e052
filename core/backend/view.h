// An operand as a kernel sees it. Internal.
#pragma once

#include <cstddef>
#include <cstdint>

#include "asyncgrad/core/device.h"
#include "asyncgrad/core/dtype.h"
#include "asyncgrad/core/shape.h"

namespace asyncgrad::detail {

// The bytes of all elements of a tensor.
inline std::int64_t value_bytes(const Shape& shape, DType dtype) {
  return shape.numel() * static_cast<std::int64_t>(size_bytes(dtype));
}

enum class Access : std::uint8_t {
  read,
  write,   // every element of the operand is written, none read
  update,  // read and written
  finish,  // likewise, but only then a value: if it fails, what was there before is none
};

// The elements of an operand, one behind the other from `data` on.
struct View {
  std::byte* data = nullptr;  // null as long as the operation has not started: its memory may not be there yet
  Shape shape;
  DType dtype = DType::float32;
  Access access = Access::read;
  Device device;
};

}  // namespace asyncgrad::detail
