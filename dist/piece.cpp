#include "asyncgrad/dist/piece.h"

#include <algorithm>
#include <utility>

namespace asyncgrad::dist {

std::vector<Piece> cut(std::span<const Tensor> tensors, std::int64_t max_bytes) {
  std::vector<Piece> pieces;
  Piece together;
  const auto end_piece = [&] {
    if (together.size_bytes > 0) pieces.push_back(std::exchange(together, {}));
  };
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const DType dtype = tensors[i].dtype();
    const std::int64_t size = tensors[i].shape().numel() * element_bytes(dtype);
    if (size < max_bytes / 4) {
      if (dtype != together.dtype || together.size_bytes + size > max_bytes) end_piece();
      together.dtype = dtype;
      if (size > 0) together.segments.push_back({.tensor = i, .size_bytes = size});
      together.size_bytes += size;
      continue;
    }
    for (std::int64_t begin = 0, bytes = 0; begin < size; begin += bytes) {
      bytes = std::min(size - begin, max_bytes);
      pieces.push_back({.dtype = dtype,
                        .size_bytes = bytes,
                        .segments = {{.tensor = i, .begin_bytes = begin, .size_bytes = bytes}}});
    }
  }
  end_piece();
  return pieces;
}

}  // namespace asyncgrad::dist
