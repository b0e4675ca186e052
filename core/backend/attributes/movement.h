// The attributes of operations that move elements. Internal.
#pragma once

#include <array>
#include <cstdint>

#include "asyncgrad/core/shape.h"

namespace asyncgrad::detail {

// The purpose of a strided copy, by which messages and profiles name it.
enum class CopyKind : std::uint8_t { permute, transpose, slice, slice_grad, flip, expand, tile, pad, assign, count };
// A copy between a whole tensor and some elements of another. The whole one is gone through in its own order; the place
// of an element in the other one is offset + the sum of index times stride along the axes of the whole one. Strides
// count elements; they may be 0 or negative in a tensor that is read.
struct StridedCopyAttributes {
  std::array<std::int64_t, Shape::max_rank> strides{};
  std::int64_t offset = 0;
  CopyKind kind = CopyKind::slice;
  bool into = false;  // out is the one with strides, of which no two elements coincide; else in is
  bool adds = false;  // out += in
  std::array<std::uint8_t, 5> padding{};
};
struct ConcatAttributes {
  std::int64_t outer = 1;  // the elements of the axes before the one that the inputs share; each input is (outer, …)
};
// The indexed operand seen as (outer, axis, inner), whose middle axis is indexed.
struct IndexAttributes {
  std::int64_t outer = 1, axis = 1, inner = 1;
};
// The extents of the axes that the inputs are indices of, one input for each.
struct MultiIndexAttributes {
  std::array<std::int64_t, Shape::max_rank> extents{};
};
// The elements (…, i, j) with j - i <= diagonal, or those with j - i >= diagonal; the others are 0.
struct TriangleAttributes {
  std::int64_t diagonal = 0;
  bool is_upper = false;
  std::array<std::uint8_t, 7> padding{};
};

}  // namespace asyncgrad::detail
