// Maxima of windows of few elements in planes whose rows of outputs fit into a vector, for each instruction set.
// Internal.
#include <hwy/highway.h>

#if defined(ASYNCGRAD_MAX_WINDOWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ASYNCGRAD_MAX_WINDOWS_INL
#undef ASYNCGRAD_MAX_WINDOWS_INL
#else
#define ASYNCGRAD_MAX_WINDOWS_INL
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "asyncgrad/backends/cpu/vectors/partial_vectors-inl.h"
#include "asyncgrad/backends/pool_plane.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

// Whether windows are so small that reducing them along the height first would save nothing, a row of outputs fits into a
// vector, as longer ones are read faster from end to end, and their places fit into integers as wide as T.
template <class T>
bool suits_max_windows(const PoolPlane& plane) {
  constexpr std::int64_t most_elements = 9, most_columns = 4;
  const std::int64_t columns = plane.width.kernel;
  return has_masked_memory && plane.width.stride <= 2 && plane.width.out <= lanes_of<T> && columns <= most_columns &&
         plane.height.kernel <= most_elements / columns &&
         (sizeof(T) == 8 || plane.in() <= std::numeric_limits<std::int32_t>::max());
}

#if HWY_TARGET != HWY_SCALAR  // which has vectors of one element

// The lanes of a vector of adjacent elements that lie in [0, width) if the first is `first`.
template <class T>
HWY_INLINE hn::Mask<hn::ScalableTag<T>> lanes_inside(std::int64_t first, std::int64_t width) {
  const hn::ScalableTag<T> d;
  const auto below = [&](std::int64_t end) HWY_ATTR {
    return hn::FirstN(d, static_cast<std::size_t>(std::clamp<std::int64_t>(end - first, 0, lanes_of<T>)));
  };
  return hn::AndNot(below(0), below(width));
}

// Stores the first `count` lanes as std::int64_t.
template <class V>
HWY_INLINE void store_places(V at, std::int64_t count, std::int64_t* places) {
  const hn::ScalableTag<std::int64_t> d;
  if constexpr (std::is_same_v<V, hn::Vec<decltype(d)>>) {
    store_up_to(at, places, count);
  } else {
    const hn::Half<hn::ScalableTag<std::int32_t>> half;
    const std::int64_t lanes = lanes_of<std::int64_t>;
    store_places(hn::PromoteTo(d, hn::LowerHalf(half, at)), std::min(count, lanes), places);
    if (count > lanes) store_places(hn::PromoteTo(d, hn::UpperHalf(half, at)), count - lanes, places + lanes);
  }
}

template <class T, class V, class M>
HWY_INLINE V load_lanes(bool whole, M inside, const T* from, V others) {
  const hn::ScalableTag<T> d;
  return whole ? hn::LoadU(d, from) : hn::IfThenElse(inside, hn::MaskedLoad(inside, d, from), others);
}

// The outputs of a plane. The elements of a window are compared row by row, each with the largest before it. `places`
// may be null.
template <int Stride, class T>
HWY_INLINE void max_of_plane(const PoolPlane& plane, const T* x, T* y, std::int64_t* places) {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> of_place;
  using Place = hn::TFromD<decltype(of_place)>;
  const PoolAxis &height = plane.height, &width = plane.width;
  const std::int64_t lanes = lanes_of<T>, column = -width.padding;
  const auto lowest = hn::Set(d, -std::numeric_limits<T>::infinity());
  const auto place_of = [&](std::int64_t place) HWY_ATTR { return hn::Set(of_place, static_cast<Place>(place)); };
  hn::Mask<decltype(d)> inside[4][Stride];
  bool whole[4][Stride];
  for (std::int64_t k = 0; k < width.kernel; ++k) {
    for (int half = 0; half < Stride; ++half) {
      inside[k][half] = lanes_inside<T>(column + k + half * lanes, width.in);
      whole[k][half] = column + k + half * lanes >= 0 && column + k + (half + 1) * lanes <= width.in;
    }
  }
  auto columns = hn::Iota(of_place, Place{0});
  if constexpr (Stride == 2) columns = hn::Add(columns, columns);
  columns = hn::Add(columns, place_of(column));
  const auto first_inside = hn::Max(columns, hn::Zero(of_place));
  for (std::int64_t i = 0; i < height.out; ++i) {
    const Range rows = height.window(i);
    auto largest = lowest;
    auto at = hn::Add(first_inside, place_of(rows.begin * width.in));
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const T* from = x + row * width.in + column;
      auto place = hn::Add(columns, place_of(row * width.in));
      for (std::int64_t k = 0; k < width.kernel; ++k, ++from, place = hn::Add(place, place_of(1))) {
        auto value = load_lanes(whole[k][0], inside[k][0], from, lowest);
        if constexpr (Stride == 2) {
          const auto others = load_lanes(whole[k][1], inside[k][1], from + lanes, lowest);
          value = hn::ConcatEven(d, others, value);
        }
        const auto replaces = hn::Or(hn::Gt(value, largest), hn::IsNaN(value));
        largest = hn::IfThenElse(replaces, value, largest);
        at = hn::IfThenElse(hn::RebindMask(of_place, replaces), place, at);
      }
    }
    store_up_to(largest, y + i * width.out, width.out);
    if (places != nullptr) store_places(at, width.out, places + i * width.out);
  }
}

template <int Stride, class T>
void max_of_rows(const PoolPlane& plane, std::int64_t count, const T* x, T* y, std::int64_t* places) {
  for (; count > 0; --count, x += plane.in(), y += plane.out()) {
    max_of_plane<Stride>(plane, x, y, places);
    if (places != nullptr) places += plane.out();
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

// The maxima of `count` planes, and their places unless `places` is null, where suits_max_windows().
template <class T>
void max_windows(const PoolPlane& plane, std::int64_t count, const T* x, T* y, std::int64_t* places) {
  if constexpr (has_masked_memory) {
    const bool is_dense = plane.width.stride == 1;
    is_dense ? max_of_rows<1>(plane, count, x, y, places) : max_of_rows<2>(plane, count, x, y, places);
  }
}

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASYNCGRAD_MAX_WINDOWS_INL
