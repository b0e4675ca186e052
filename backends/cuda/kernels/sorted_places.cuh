// The places of lines' elements, sorted by keys; equal keys stay in their order. Internal.
//
// Each thread sorts a few elements, and a team merges them two by two in its shared memory. Of lines that are longer
// than a block's tile, the tiles are merged by blocks, each of which makes a tile of the result (Green, McColl, Bader:
// GPU Merge Path; ICS 2012).
#pragma once

#include <algorithm>
#include <utility>

#include "asyncgrad/backends/cuda/kernels/for_each.cuh"
#include "asyncgrad/backends/divided.h"

namespace asyncgrad::detail::cuda {

// Keys have
//   Key
//   key(line, place) -> Key
//   is_less(Key, Key) -> bool
// and a result has
//   put(line, rank, place, Key)    once for each element of a line: there are `rank` others before it

inline constexpr int sorted_by_thread = 4;
inline constexpr std::int64_t sorted_by_block = block_threads * sorted_by_thread;

// Counts the elements of x among the first `count` of x and y merged. Equal ones of x come first.
template <class Keys, class Key, class Count>
__device__ Count count_of_first(const Keys& keys, const Key* x, Count n_x, const Key* y, Count n_y, Count count) {
  Count begin = count > n_y ? count - n_y : 0, end = count < n_x ? count : n_x;
  while (begin < end) {
    const Count middle = begin + (end - begin) / 2;
    if (keys.is_less(y[count - 1 - middle], x[middle])) {
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  return begin;
}

// The elements that a team sorts or merges, in shared memory, and those of them that the thread holds: adjacent ones.
template <class Team, class Keys>
class SortTile {
 public:
  using Key = typename Keys::Key;
  static constexpr int size = Team::size * sorted_by_thread;

  // key(i) for 0 <= i < n. A lane writes over what it alone has read in each_of_team() of the tile before.
  template <class Load>
  __device__ SortTile(const Keys& keys, int n, Load key) : order_(keys), n_(n), of_team_(shared()) {
    team_.each(n, [&](std::int64_t i) { of_team_.keys[i] = key(static_cast<int>(i)); });
    team_.meet();
  }

  __device__ void sort() {
    each([&](int k, int i) { set(k, of_team_.keys[i], i); });
#pragma unroll
    for (int round = 0; round < sorted_by_thread; ++round) {
#pragma unroll
      for (int k = round % 2; k + 1 < sorted_by_thread; k += 2) {
        if (first_ + k + 1 < n_ && order_.is_less(keys_[k + 1], keys_[k])) exchange(k);
      }
    }
    for (int width = sorted_by_thread; width < n_; width *= 2) {
      write();
      const int begin = first_ & -(2 * width);  // widths are powers of 2
      if (first_ < n_) merge(begin, least(width, n_ - begin), least(2 * width, n_ - begin));
    }
    write();
  }

  // Merges the first n_x elements with the others.
  __device__ void merge(int n_x) {
    each([&](int, int i) { of_team_.places[i] = i; });
    team_.meet();
    if (first_ < n_) merge(0, n_x, n_);
    write();
  }

  // put(rank, place, key): an element was loaded as that of number `place`.
  template <class Put>
  __device__ void each_of_team(Put put) const {
    team_.each(n_, [&](std::int64_t i) { put(i, of_team_.places[i], of_team_.keys[i]); });
  }

 private:
  struct OfTeam {
    Key* keys;
    int* places;
  };
  static __device__ OfTeam shared() {
    __shared__ Key keys[sorted_by_block];
    __shared__ int places[sorted_by_block];
    const int before = (static_cast<int>(threadIdx.x) - Team::lane()) * sorted_by_thread;
    return {keys + before, places + before};
  }
  static __device__ int least(int x, int y) { return x < y ? x : y; }

  // Registers have no addresses: every k is a constant.
  template <class Function>
  __device__ void each(Function function) {
#pragma unroll
    for (int k = 0; k < sorted_by_thread; ++k) {
      if (first_ + k < n_) function(k, first_ + k);
    }
  }
  __device__ void set(int k, Key key, int place) {
    keys_[k] = key;
    places_[k] = place;
  }
  __device__ void exchange(int k) {
    const Key key = keys_[k];
    const int place = places_[k];
    set(k, keys_[k + 1], places_[k + 1]);
    set(k + 1, key, place);
  }
  __device__ void write() {
    team_.meet();  // others may still read there
    each([&](int k, int i) {
      of_team_.keys[i] = keys_[k];
      of_team_.places[i] = places_[k];
    });
    team_.meet();
  }

  // Takes the thread's elements out of two sorted stretches, of n_x and n - n_x elements, that lie side by side.
  __device__ void merge(int begin, int n_x, int n) {
    const Key *const x = of_team_.keys + begin, *const y = x + n_x;
    const int n_y = n - n_x;
    int i = count_of_first(order_, x, n_x, y, n_y, first_ - begin), j = first_ - begin - i;
    Key of_x{}, of_y{};
    if (i < n_x) of_x = x[i];
    if (j < n_y) of_y = y[j];
    each([&](int k, int) {
      if (j < n_y && (i == n_x || order_.is_less(of_y, of_x))) {
        set(k, of_y, of_team_.places[begin + n_x + j]);
        if (++j < n_y) of_y = y[j];
      } else {
        set(k, of_x, of_team_.places[begin + i]);
        if (++i < n_x) of_x = x[i];
      }
    });
  }

  const Keys& order_;
  Team team_;
  int n_, first_ = Team::lane() * sorted_by_thread;
  OfTeam of_team_;
  Key keys_[sorted_by_thread];
  int places_[sorted_by_thread];
};

// Sorts lines, or the tiles of lines by themselves.
template <class Keys, class Result>
struct SortTiles {
  Keys keys;
  Result result;
  std::int64_t axis, tiles;

  template <class Team>
  __device__ void operator()(Team, std::int64_t item) const {
    using Tile = SortTile<Team, Keys>;
    const Divided at = divided(item, tiles);
    const std::int64_t line = at.quotient, begin = at.remainder * Tile::size;
    const auto n = static_cast<int>(axis - begin < Tile::size ? axis - begin : Tile::size);
    Tile tile(keys, n, [&](int i) { return keys.key(line, begin + i); });
    tile.sort();
    tile.each_of_team(
        [&](std::int64_t rank, int place, auto key) { result.put(line, begin + rank, begin + place, key); });
  }
};

// Lines whose stretches are sorted by themselves.
template <class Key>
struct SortedStretches {
  Key* keys;
  std::int64_t* places;
  std::int64_t axis;

  __device__ void put(std::int64_t line, std::int64_t rank, std::int64_t place, Key key) const {
    keys[line * axis + rank] = key;
    places[line * axis + rank] = place;
  }
};

// The pair of stretches, of `size` elements each, a power of 2, in which a place of a line lies. The second may be cut
// short or empty.
struct StretchPair {
  std::int64_t begin, first, second;  // how many elements the two have

  __device__ StretchPair(std::int64_t axis, std::int64_t size, std::int64_t place)
      : begin(place & -(2 * size)),
        first(axis - begin < size ? axis - begin : size),
        second(axis - begin - first < size ? axis - begin - first : size) {}
};

// How many elements of the pair's first stretch come before each tile of the merged pair.
template <class Keys>
struct SplitPairs {
  Keys keys;
  const typename Keys::Key* sorted;
  std::int64_t axis, tiles, size;
  std::int64_t* splits;

  __device__ void operator()(std::int64_t item) const {
    const Divided at = divided(item, tiles);
    const std::int64_t place = at.remainder * sorted_by_block;
    const StretchPair pair(axis, size, place);
    const auto* const x = sorted + at.quotient * axis + pair.begin;
    splits[item] = count_of_first(keys, x, pair.first, x + pair.first, pair.second, place - pair.begin);
  }
};

template <class Keys, class Result>
struct MergePairs {
  Keys keys;
  SortedStretches<typename Keys::Key> sorted;
  std::int64_t tiles, size;
  const std::int64_t* splits;
  Result result;

  template <class Team>
  __device__ void operator()(Team, std::int64_t item) const {
    const Divided at = divided(item, tiles);
    const std::int64_t line = at.quotient, rank = at.remainder * sorted_by_block;
    const StretchPair pair(sorted.axis, size, rank);
    const std::int64_t before = rank - pair.begin, rest = pair.first + pair.second - before;
    const auto n = static_cast<int>(rest < sorted_by_block ? rest : sorted_by_block);
    const std::int64_t x = splits[item], end_x = n == rest ? pair.first : splits[item + 1];
    const auto n_x = static_cast<int>(end_x - x);
    const std::int64_t begin = line * sorted.axis + pair.begin, y = pair.first + before - x - n_x;
    const auto from = [&](int i) { return begin + (i < n_x ? x : y) + i; };
    SortTile<Team, Keys> tile(keys, n, [&](int i) { return sorted.keys[from(i)]; });
    tile.merge(n_x);
    tile.each_of_team(
        [&](std::int64_t i, int place, auto key) { result.put(line, rank + i, sorted.places[from(place)], key); });
  }
};

inline std::int64_t sort_tiles_of(std::int64_t axis) { return (axis + sorted_by_block - 1) / sorted_by_block; }

// Long lines need twice the memory of their keys and places, and a number for each tile.
template <class Key>
std::int64_t sort_scratch_bytes(std::int64_t lines, std::int64_t axis) {
  if (axis <= sorted_by_block) return 0;
  constexpr auto place_bytes = static_cast<std::int64_t>(sizeof(std::int64_t));
  const std::int64_t element_bytes = static_cast<std::int64_t>(sizeof(Key)) + place_bytes;
  return lines * (2 * axis * element_bytes + sort_tiles_of(axis) * place_bytes);
}

template <class Keys, class Result>
void sort_long_lines(const KernelCall& call, std::byte* scratch, std::int64_t lines, std::int64_t axis,
                     const Keys& keys, const Result& result) {
  using Key = typename Keys::Key;
  const std::int64_t tiles = sort_tiles_of(axis), count = lines * tiles;
  auto* const splits = reinterpret_cast<std::int64_t*>(scratch);
  std::int64_t *const places = splits + count, *const end = places + 2 * lines * axis;
  auto* const sorted_keys = reinterpret_cast<Key*>(end);
  SortedStretches<Key> sorted{sorted_keys, places, axis},
      merged{sorted_keys + lines * axis, places + lines * axis, axis};
  for_teams<block_threads>(call, count, SortTiles<Keys, SortedStretches<Key>>{keys, sorted, axis, tiles});
  for (std::int64_t size = sorted_by_block; size < axis; size *= 2) {
    for_each(call, count, SplitPairs<Keys>{keys, sorted.keys, axis, tiles, size, splits});
    const auto merge = [&](const auto& to) {
      for_teams<block_threads>(call, count,
                               MergePairs<Keys, std::decay_t<decltype(to)>>{keys, sorted, tiles, size, splits, to});
    };
    2 * size < axis ? merge(merged) : merge(result);
    std::swap(sorted, merged);
  }
}

// Sorts `lines` lines of `axis` elements. `scratch`: of sort_scratch_bytes().
template <class Keys, class Result>
void sort_lines(const KernelCall& call, std::byte* scratch, std::int64_t lines, std::int64_t axis, const Keys& keys,
                const Result& result) {
  const SortTiles<Keys, Result> whole{keys, result, axis, 1};
  if (axis <= sorted_by_thread) {
    for_teams<1>(call, lines, whole);
  } else if (axis <= warp_threads * sorted_by_thread) {
    for_teams<warp_threads>(call, lines, whole);
  } else if (axis <= sorted_by_block) {
    for_teams<block_threads>(call, lines, whole);
  } else {
    sort_long_lines(call, scratch, lines, axis, keys, result);
  }
}

// --- The places of one line of integers

struct IntegerKeys {
  using Key = std::int64_t;
  const std::int64_t* keys;

  __device__ Key key(std::int64_t, std::int64_t place) const { return keys[place]; }
  __device__ static bool is_less(Key x, Key y) { return x < y; }
};

struct PlacesOfLine {
  std::int64_t* places;

  template <class Key>
  __device__ void put(std::int64_t, std::int64_t rank, std::int64_t place, Key) const {
    places[rank] = place;
  }
};

inline std::int64_t sorted_places_bytes(std::int64_t count) {
  return count * static_cast<std::int64_t>(sizeof(std::int64_t)) + sort_scratch_bytes<std::int64_t>(1, count);
}

// The places 0, …, count - 1 in the order of their integers. They lie in the scratch memory, of sorted_places_bytes().
inline const std::int64_t* sorted_places(const KernelCall& call, std::byte* scratch, const std::int64_t* integers,
                                         std::int64_t count) {
  auto* const places = reinterpret_cast<std::int64_t*>(scratch);
  sort_lines(call, reinterpret_cast<std::byte*>(places + count), 1, count, IntegerKeys{integers}, PlacesOfLine{places});
  return places;
}

}  // namespace asyncgrad::detail::cuda
