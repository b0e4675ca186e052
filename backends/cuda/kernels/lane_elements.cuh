// Rows that are gone through several times, and are read once. Internal.
#pragma once

#include <cstdint>
#include <utility>

#include "asyncgrad/backends/cuda/kernels/for_each.cuh"

namespace asyncgrad::detail::cuda {

// What load(i) gives for a lane's elements of a row of n: lane, lane + lanes, …. Registers keep it for `kept` of them,
// which are all; if `kept` is 0, each pass loads it again.
template <int kept, class Team, class Load>
class LaneElements {
 public:
  __device__ LaneElements(std::int64_t n, Load load) : n_(n), load_(load) {
    if constexpr (kept > 0) {
      each_kept([&](int k, int i) { elements_[k] = load(i); });
    }
  }

  // function(i, load(i)) for each of the lane's elements.
  template <class Function>
  __device__ void each(Function function) const {
    if constexpr (kept > 0) {
      each_kept([&](int k, int i) { function(i, elements_[k]); });
    } else {
      for (std::int64_t i = Team::lane(); i < n_; i += Team::size) function(i, load_(i));
    }
  }

 private:
  using Element = decltype(std::declval<Load>()(std::int64_t{}));

  // Without a loop, so that every k is a constant, as registers have no addresses.
  template <class Function>
  __device__ void each_kept(Function function) const {
    const int n = static_cast<int>(n_);
    const auto at = [&](int k) {
      const int i = Team::lane() + k * Team::size;
      if (i < n) function(k, i);
    };
    [&]<int... k>(std::integer_sequence<int, k...>) { (at(k), ...); }
    (std::make_integer_sequence<int, kept>());
  }

  std::int64_t n_;
  Load load_;
  Element elements_[kept > 0 ? kept : 1];
};

// Without a bound the compiler loads so much ahead that few warps have room. float64, which is rare, has none.
template <class T>
inline constexpr int row_blocks_at_once = sizeof(T) == 4 ? 2 : 1;

// Calls launch.operator()<lanes, kept>() with what suits rows of n elements.
template <class Launch>
void with_row_teams(std::int64_t n, Launch launch) {
  if (n <= 64) {
    launch.template operator()<8, 8>();  // a warp has four rows
  } else if (n <= 8 * warp_threads) {
    launch.template operator()<warp_threads, 8>();
  } else if (n <= 32 * warp_threads) {
    launch.template operator()<warp_threads, 32>();
  } else if (n <= 8 * block_threads) {
    launch.template operator()<block_threads, 8>();
  } else if (n <= 16 * block_threads) {
    launch.template operator()<block_threads, 16>();
  } else {
    launch.template operator()<block_threads, 0>();
  }
}

}  // namespace asyncgrad::detail::cuda
