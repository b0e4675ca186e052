// Compiled once for every instruction set.
#include "asyncgrad/backends/cpu/windows/conv_lanes.h"

#include "asyncgrad/backends/cpu/highway_targets.h"
#include "asyncgrad/core/backend/round_up.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/windows/conv_lanes.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/vectors/partial_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

constexpr int max_sums = 8;  // that stay in registers, as do the addresses of what they read

// `count` sums, at most Count.
template <int Count, class T>
HWY_INLINE void add_outputs(const LaneProduct& p, const LanePixel* pixels, std::int64_t count, const T* from_x,
                            const T* w, const T* initial, T* out) {
  if constexpr (Count > 1) {
    if (count < Count) return add_outputs<Count - 1>(p, pixels, count, from_x, w, initial, out);
  }
  const hn::ScalableTag<T> d;
  const T* x[Count];
  hn::Vec<decltype(d)> sums[Count];
  for (int i = 0; i < Count; ++i) {
    x[i] = from_x + pixels[i].x;
    sums[i] = hn::LoadU(d, initial);
  }
  for (const LaneTap* tap = p.taps; tap < p.taps + p.tap_count; ++tap) {
    const auto factor = hn::LoadU(d, w + tap->w);
    for (int i = 0; i < Count; ++i) sums[i] = hn::MulAdd(factor, hn::LoadU(d, x[i] + tap->x), sums[i]);
  }
  for (int i = 0; i < Count; ++i) hn::StoreU(sums[i], d, out + pixels[i].out);
}

template <int Count, class T>
HWY_INLINE void add_weight(const LaneProduct& p, const LaneTap* taps, std::int64_t count, const T* x, T* w,
                           const T* out) {
  if constexpr (Count > 1) {
    if (count < Count) return add_weight<Count - 1>(p, taps, count, x, w, out);
  }
  const hn::ScalableTag<T> d;
  std::int64_t offsets[Count];
  hn::Vec<decltype(d)> sums[Count];
  for (int i = 0; i < Count; ++i) {
    offsets[i] = taps[i].x;
    sums[i] = hn::Zero(d);
  }
  for (const LanePixel* pixel = p.pixels; pixel < p.pixels + p.pixel_count; ++pixel) {
    const auto factor = hn::LoadU(d, out + pixel->out);
    const T* const of_pixel = x + pixel->x;
    for (int i = 0; i < Count; ++i) sums[i] = hn::MulAdd(factor, hn::LoadU(d, of_pixel + offsets[i]), sums[i]);
  }
  for (int i = 0; i < Count; ++i) {
    T* const to = w + taps[i].w;
    hn::StoreU(hn::Add(hn::LoadU(d, to), sums[i]), d, to);
  }
}

// Blocks are about as large, as a small one waits for each of its sums.
static constexpr std::int64_t blocks_of(std::int64_t count) { return divided_up(count, max_sums); }

template <class T>
void outputs(const LaneProduct& p, const T* x, const T* w, const T* initial, T* out) {
  const std::int64_t blocks = blocks_of(p.pixel_count);
  for (std::int64_t i = 0; i < blocks; ++i) {
    const std::int64_t first = p.pixel_count * i / blocks, end = p.pixel_count * (i + 1) / blocks;
    add_outputs<max_sums>(p, p.pixels + first, end - first, x, w, initial, out);
  }
}
template <class T>
void weight(const LaneProduct& p, const T* x, T* w, const T* out) {
  const std::int64_t blocks = blocks_of(p.tap_count);
  for (std::int64_t i = 0; i < blocks; ++i) {
    const std::int64_t first = p.tap_count * i / blocks, end = p.tap_count * (i + 1) / blocks;
    add_weight<max_sums>(p, p.taps + first, end - first, x, w, out);
  }
}

template <class T>
ConvLanes<T> lanes_table() {
  return {lanes_of<T>, outputs<T>, weight<T>};
}
FloatingLoops<ConvLanes> conv_lanes() { return {lanes_table<float>(), lanes_table<double>()}; }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

HWY_EXPORT(conv_lanes);

const FloatingLoops<ConvLanes>& conv_lanes() {
  static const auto loops = HWY_DYNAMIC_DISPATCH(conv_lanes)();
  return loops;
}

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
