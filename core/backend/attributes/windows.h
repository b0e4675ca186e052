// The attributes of convolutions and pooling. Internal.
#pragma once

#include <array>
#include <cstdint>

#include "asyncgrad/core/backend/round_up.h"
#include "asyncgrad/core/math_mode.h"

namespace asyncgrad::detail {

// Each pair is of the axes of height and width.
struct ConvAttributes {
  std::array<std::int64_t, 2> stride{1, 1}, padding{}, dilation{1, 1};
  std::int64_t groups = 1;
  bool is_one_dimensional = false;    // of a height of 1, and named conv1d
  bool is_transposed = false;         // conv_input is what a user called, conv its gradient
  MathMode math = MathMode::float32;  // of products on a GPU
  std::array<std::uint8_t, 5> unused{};
};
// The gradient of a weight (O, C / groups, h, w) is computed for parts of the batch, so that there is work for several
// threads. What is computed at once is of some channels, and of some outputs in parts of about the same length.
constexpr std::int64_t conv_weight_channels(std::int64_t taps) {
  constexpr std::int64_t rows = 512;
  return taps >= rows ? 1 : rows / taps;
}
constexpr std::int64_t conv_weight_output_parts(std::int64_t outputs) {
  constexpr std::int64_t most = 128;
  return divided_up(outputs, most);
}
// Whether groups are so small that several are computed at once. `channels` and `outputs` are of one group.
constexpr bool conv_is_depthwise(std::int64_t channels, std::int64_t outputs) { return channels == 1 && outputs <= 4; }
// The number of parts of the batch. `channels` and `outputs` are of one group, `taps` is h w.
constexpr std::int64_t conv_weight_parts(std::int64_t batch, std::int64_t groups, std::int64_t channels,
                                         std::int64_t taps, std::int64_t outputs) {
  constexpr std::int64_t wanted = 8, groups_at_once = 16;
  const std::int64_t at_once = conv_weight_channels(taps);
  const std::int64_t tiles = conv_is_depthwise(channels, outputs)
                                 ? divided_up(groups, groups_at_once)
                                 : groups * divided_up(channels, at_once) * conv_weight_output_parts(outputs);
  if (tiles < 1 || tiles >= wanted || batch < 1) return 1;
  return wanted / tiles < batch ? wanted / tiles : batch;
}
struct PoolAttributes {
  std::array<std::int64_t, 2> kernel{1, 1}, stride{1, 1}, padding{};
};

}  // namespace asyncgrad::detail
