// Values in pieces. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "asyncgrad/core/tensor.h"

namespace asyncgrad::dist {

inline constexpr std::int64_t max_piece_bytes = std::int64_t{4} << 20;

// A part of a tensor's bytes.
struct Segment {
  std::size_t tensor = 0;  // in the list that was cut
  std::int64_t begin_bytes = 0, size_bytes = 0;
};
// What one operation moves: elements of one type.
struct Piece {
  DType dtype{};
  std::int64_t size_bytes = 0;
  std::vector<Segment> segments{};
};
// Cuts the tensors into pieces of at most `max_bytes`, in their order. Those of less than a quarter of that go together,
// in a piece that comes as soon as the next one does not fit, or last; larger ones have pieces of their own, which move
// without a copy. Empty tensors are in none.
std::vector<Piece> cut(std::span<const Tensor> tensors, std::int64_t max_bytes);

// The bytes of one element.
inline std::int64_t element_bytes(DType dtype) { return static_cast<std::int64_t>(size_bytes(dtype)); }

}  // namespace asyncgrad::dist
