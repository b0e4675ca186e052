// The places of lines' elements, sorted by keys; equal keys stay in their order. Internal.
//
// Stretches of a line are sorted by counting, then merged two by two: each place finds its own way.
#pragma once

#include <algorithm>
#include <utility>

#include "asyncgrad/backends/cuda/kernels/for_each.cuh"
#include "asyncgrad/backends/divided.h"

namespace asyncgrad::detail::cuda {

inline constexpr std::int64_t first_stretch = 1024;

// A list of keys has
//   key(line, place) -> Key
//   is_less(Key, Key) -> bool

// The position within its stretch: behind all places with a smaller key, and behind those with the same key that come
// before it.
template <class Keys>
struct SortStretch {
  Keys keys;
  std::int64_t axis;
  std::int64_t* sorted;

  template <class Team>
  __device__ void operator()(Team team, std::int64_t item) const {
    const Divided at = divided(item, axis);
    const std::int64_t line = at.quotient, place = at.remainder, begin = place / first_stretch * first_stretch;
    const std::int64_t size = axis - begin < first_stretch ? axis - begin : first_stretch;
    const auto key = keys.key(line, place);
    const auto comes_before = [&](std::int64_t i) -> std::int64_t {
      const auto other = keys.key(line, begin + i);
      return keys.is_less(other, key) || (begin + i < place && !keys.is_less(key, other)) ? 1 : 0;
    };
    const std::int64_t before =
        team.reduce(size, std::int64_t{0}, comes_before, [](std::int64_t x, std::int64_t y) { return x + y; });
    team.each(1, [&](std::int64_t) { sorted[line * axis + begin + before] = place; });
  }
};

// The number of sorted places of a line, from `first` on, for which is_so holds: these come before all others up to
// `last`.
template <class IsSo>
__device__ std::int64_t how_many(const std::int64_t* sorted, std::int64_t first, std::int64_t last, IsSo is_so) {
  std::int64_t begin = first, end = last;
  while (begin < end) {
    const std::int64_t middle = begin + (end - begin) / 2;
    if (is_so(sorted[middle])) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin - first;
}

// Merges pairs of stretches of `size` places. Among places with the same key, those on the left come first.
template <class Keys>
struct MergeStretches {
  Keys keys;
  std::int64_t axis, size;
  const std::int64_t* sorted;
  std::int64_t* merged;

  __device__ void operator()(std::int64_t item) const {
    const Divided at = divided(item, axis);
    const std::int64_t line = at.quotient, i = at.remainder;
    const std::int64_t* const of_line = sorted + line * axis;
    const std::int64_t place = of_line[i], begin = i / (2 * size) * (2 * size);
    const std::int64_t middle = within(begin + size), end = within(middle + size);
    const auto key = keys.key(line, place);
    std::int64_t to = i;
    if (i < middle) {
      to += how_many(of_line, middle, end, [&](std::int64_t p) { return keys.is_less(keys.key(line, p), key); });
    } else {
      to -= middle - begin;
      to += how_many(of_line, begin, middle, [&](std::int64_t p) { return !keys.is_less(key, keys.key(line, p)); });
    }
    merged[line * axis + to] = place;
  }

 private:
  __device__ std::int64_t within(std::int64_t end) const { return end < axis ? end : axis; }
};

// The places of a line in the order of its keys, for `lines` lines of `axis` elements: (lines, axis). They lie in one
// half of the scratch memory, which has room for two such arrays; the other half is free.
struct SortedPlaces {
  std::int64_t *places, *free;
};

template <class Keys>
SortedPlaces sorted_places(const KernelCall& call, std::int64_t* scratch, std::int64_t lines, std::int64_t axis,
                           const Keys& keys) {
  SortedPlaces result{scratch, scratch + lines * axis};
  for_teams_of(std::min(axis, first_stretch), call, lines * axis, SortStretch<Keys>{keys, axis, result.places});
  for (std::int64_t size = first_stretch; size < axis; size *= 2) {
    for_each(call, lines * axis, MergeStretches<Keys>{keys, axis, size, result.places, result.free});
    std::swap(result.places, result.free);
  }
  return result;
}

// Integers as keys of one line.
struct IntegerKeys {
  const std::int64_t* keys;

  __device__ std::int64_t key(std::int64_t, std::int64_t place) const { return keys[place]; }
  __device__ static bool is_less(std::int64_t x, std::int64_t y) { return x < y; }
};

}  // namespace asyncgrad::detail::cuda
