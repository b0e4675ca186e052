// The attributes of reductions and normalisations along axes. Internal.
#pragma once

#include <array>
#include <cstdint>

#include "asyncgrad/core/backend/round_up.h"

namespace asyncgrad::detail {

// The input seen as (outer, axis, inner); the middle one is reduced or normalised.
struct ReduceAttributes {
  std::int64_t outer = 1, axis = 1, inner = 1;
  double scale = 1;
  bool of_squares = false;  // sum: of the squares of the elements
  std::array<std::uint8_t, 7> padding{};
};
// A line is summed in blocks of so many elements, whose sums are added in order: the last axis, or another one. sum does
// both, and sum_parts and sum_of_parts do them apart, with parts (outer, blocks, inner) of float64 or int64; prod_parts and
// prod_of_parts multiply likewise. A backend that has several threads for a line has no kernel for these, see has_kernel().
inline constexpr std::int64_t summed_in_row = 4096, summed_in_column = 128;
constexpr std::int64_t line_block(const ReduceAttributes& a) { return a.inner == 1 ? summed_in_row : summed_in_column; }
// Whether that is worth it: the lines themselves would occupy few threads.
constexpr bool are_few_long_lines(const ReduceAttributes& a) {
  constexpr std::int64_t columns = 256, few = 8, long_elements = 262144;
  return a.outer * divided_up(a.inner, columns) < few &&
         a.axis * (a.inner < columns ? a.inner : columns) >= long_elements;
}
// The input seen as (outer, axis, inner): sums from the axis's first element, or from its last one, up to each.
struct CumsumAttributes {
  std::int64_t outer = 1, axis = 1, inner = 1;
  bool from_end = false;
  std::array<std::uint8_t, 7> padding{};
};
// The input seen as (outer, axis, inner): the first `count` places of each line in the order of its elements.
struct SortAttributes {
  std::int64_t outer = 1, axis = 1, inner = 1, count = 1;
  bool is_descending = false;
  std::array<std::uint8_t, 7> padding{};
};
struct CtcAttributes {
  std::int64_t blank = 0;  // the class
};
// The input seen as rows of `width` elements, each of which is normalised. Statistics are the rows' means and the
// inverses of their deviations. layer_norm_grad gives the gradients of weight and bias in parts, one of each tile.
struct NormAttributes {
  std::int64_t rows = 0, width = 1;
  double epsilon = 0;
  bool is_rms = false;  // the mean counts as 0
  bool has_weight = false, has_bias = false;
  std::array<std::uint8_t, 5> padding{};
};
constexpr std::int64_t norm_rows_per_tile(std::int64_t width) {
  return width < 1 ? 512 : width < 65536 ? 65536 / width : 1;
}
constexpr std::int64_t norm_tiles(std::int64_t rows, std::int64_t width) {
  const std::int64_t tiles = divided_up(rows, norm_rows_per_tile(width));
  return tiles < 1 ? 1 : tiles;
}
// The input seen as (samples, groups, channels of a group, inner), of which each group of a sample is a row that is
// normalised. Statistics are as those of NormAttributes. group_norm_grad gives the gradients of weight and bias in
// parts, one of each sample.
struct GroupNormAttributes {
  std::int64_t samples = 0, groups = 1, channels = 0, inner = 0;
  double epsilon = 0;
  bool has_weight = false, has_bias = false;
  std::array<std::uint8_t, 6> padding{};

  constexpr std::int64_t rows() const { return samples * groups; }
  constexpr std::int64_t width() const { return channels * inner; }
};
// The input seen as (outer, channels, inner). Statistics are means, variances and inverses of the deviations.
struct BatchNormAttributes {
  std::int64_t outer = 0, channels = 0, inner = 0;
  double epsilon = 0;
  bool has_weight = false, has_bias = false;
  bool is_given = false;  // statistics are read, and count as constants
  std::array<std::uint8_t, 5> padding{};
};

}  // namespace asyncgrad::detail
