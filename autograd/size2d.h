// The extents of planes, windows and strides.
#pragma once

#include <cstdint>

namespace asyncgrad {

// A number for the height and one for the width: `{2, 1}`, or `2` for both.
struct Size2d {
  constexpr Size2d(std::int64_t both) : height(both), width(both) {}  // NOLINT(google-explicit-constructor)
  constexpr Size2d(std::int64_t rows, std::int64_t columns) : height(rows), width(columns) {}
  std::int64_t height, width;
};

}  // namespace asyncgrad
