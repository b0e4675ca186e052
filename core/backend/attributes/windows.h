// The attributes of convolutions and pooling. Internal.
#pragma once

#include <array>
#include <cstdint>

namespace asyncgrad::detail {

// Each pair is of the axes of height and width.
struct ConvAttributes {
  std::array<std::int64_t, 2> stride{1, 1}, padding{}, dilation{1, 1};
  std::int64_t groups = 1;
  bool is_one_dimensional = false;  // of a height of 1, and named conv1d
  std::array<std::uint8_t, 7> unused{};
};
// The gradient of a weight (O, C / groups, h, w) is computed for parts of the batch, so that there is work for several
// threads, and `sums` of C / groups h w inputs in each group.
inline constexpr std::int64_t conv_sums_per_tile = 128;
constexpr std::int64_t conv_weight_parts(std::int64_t batch, std::int64_t groups, std::int64_t sums) {
  constexpr std::int64_t wanted = 8;
  const std::int64_t tiles = groups * ((sums + conv_sums_per_tile - 1) / conv_sums_per_tile);
  if (tiles < 1 || tiles >= wanted || batch < 1) return 1;
  return wanted / tiles < batch ? wanted / tiles : batch;
}
struct PoolAttributes {
  std::array<std::int64_t, 2> kernel{1, 1}, stride{1, 1}, padding{};
};

}  // namespace asyncgrad::detail
