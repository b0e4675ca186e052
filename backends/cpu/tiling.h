// Cuts kernels into tiles. Internal.
#pragma once

#include <algorithm>
#include <cstdint>

#include "asyncgrad/backends/range.h"
#include "asyncgrad/core/backend/kernels.h"
#include "asyncgrad/core/backend/round_up.h"

namespace asyncgrad::detail {

// The elements of work that a tile should have: enough to pay for a thread that joins (some 20 µs), and few enough that
// threads end at about the same time.
inline constexpr std::int64_t tile_elements = 65536;

// The elements of float32 in a cache line.
inline constexpr std::int64_t line_floats = 16;

// The number of tiles of `total` items, `items` in each; at least one.
constexpr int tile_count(std::int64_t total, std::int64_t items) {
  return static_cast<int>(std::max<std::int64_t>(1, divided_up(total, items)));
}
// The items of one tile, at most `items`. Few tiles share all items about equally, because threads would wait for each
// other if the last one were short. Tiles begin at multiples of about a sixteenth of `items`.
// `together`: how many items share a line of the memory. They stay in one tile if `items` is a multiple of it.
constexpr Range tile_range(std::int64_t total, std::int64_t items, int tile, std::int64_t together = 1) {
  const std::int64_t grain = rounded_up(std::max<std::int64_t>(1, items / 16), together);
  const std::int64_t each = std::min(items, rounded_up(divided_up(total, tile_count(total, items)), grain));
  return {std::min(total, tile * each), std::min(total, (tile + 1) * each)};
}
// The elements of a tile, of `total` that one loop goes through and that may be cut anywhere. Two threads share even what
// would fit in one tile, unless it is so little that one thread is done as soon. Of more there are at least four tiles: a
// thread that is ahead of the other takes less from the cache of the other's core.
constexpr std::int64_t loop_tile_elements(std::int64_t total) {
  constexpr std::int64_t shared_from = 24576, quartered_from = 65536;
  if (total < shared_from) return tile_elements;
  return std::min(tile_elements, divided_up(total, total < quartered_from ? 2 : 4));
}
constexpr int loop_tile_count(std::int64_t total) { return tile_count(total, loop_tile_elements(total)); }
constexpr Range loop_tile_range(std::int64_t total, int tile) {
  return tile_range(total, loop_tile_elements(total), tile);
}
// The number of items of a tile of at most `of_tile` elements if each item has `elements` elements; at least one.
constexpr std::int64_t items_per_tile(std::int64_t elements, std::int64_t of_tile = tile_elements) {
  return std::max<std::int64_t>(1, of_tile / std::max<std::int64_t>(1, elements));
}

}  // namespace asyncgrad::detail
