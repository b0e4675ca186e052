// Threads that work on one item together: one, a warp or a block. Internal.
#pragma once

#include <cstdint>
#include <cstring>

namespace asyncgrad::detail::cuda {

inline constexpr int warp_threads = 32;
inline constexpr int block_threads = 256;

inline constexpr int ahead = 4;  // values that a thread asks memory for before it needs the first

// The partial combined with value(i), value(i + step), … as long as they are before n.
template <class Partial, class Value, class Combine>
__device__ Partial combined(std::int64_t i, std::int64_t n, int step, Partial partial, Value value, Combine combine) {
  for (; i + (ahead - 1) * step < n; i += ahead * step) {
    Partial values[ahead];
#pragma unroll
    for (int j = 0; j < ahead; ++j) values[j] = value(i + j * step);
#pragma unroll
    for (int j = 0; j < ahead; ++j) partial = combine(partial, values[j]);
  }
  for (; i < n; i += step) partial = combine(partial, value(i));
  return partial;
}

template <int lanes>
class Team {
 public:
  static constexpr int size = lanes;
  static __device__ int lane() { return static_cast<int>(threadIdx.x) % lanes; }

  // value(0), …, value(n - 1), combined in an order that n alone decides; every lane gets the result. `identity`,
  // combined with x, is x.
  template <class Partial, class Value, class Combine>
  __device__ Partial reduce(std::int64_t n, Partial identity, Value value, Combine combine) const {
    return folded(combined(lane(), n, lanes, identity, value, combine), combine);
  }

  // The partials of all lanes, combined in one order; every lane gets the result.
  template <class Partial, class Combine>
  static __device__ Partial folded(Partial partial, Combine combine) {
    if constexpr (lanes > warp_threads) {
      __shared__ Partial partials[lanes];
      partials[lane()] = partial;
      for (int width = lanes / 2; width >= warp_threads; width /= 2) {
        __syncthreads();
        if (lane() < width) partials[lane()] = combine(partials[lane()], partials[lane() + width]);
      }
      __syncthreads();
      partial = partials[lane() % warp_threads];
      __syncthreads();  // the next reduction writes there
    }
    constexpr int width = lanes < warp_threads ? lanes : warp_threads;
    for (int by = width / 2; by > 0; by /= 2) {
      partial =
          combine(partial, moved(partial, [&](unsigned word) { return __shfl_down_sync(mask(), word, by, width); }));
    }
    if constexpr (width == 1) return partial;
    return moved(partial, [](unsigned word) { return __shfl_sync(mask(), word, 0, width); });
  }

  // function(i) for 0 <= i < n, each by one of the lanes.
  template <class Function>
  __device__ void each(std::int64_t n, Function function) const {
    for (std::int64_t i = lane(); i < n; i += lanes) function(i);
  }

  // After this, all lanes see what any lane wrote before, in `each`.
  __device__ void meet() const {
    if constexpr (lanes > warp_threads) {
      __syncthreads();
    } else if constexpr (lanes > 1) {
      __syncwarp(mask());
    }
  }

 private:
  // The team's lanes of its warp, in which other teams may be done.
  static __device__ unsigned mask() {
    if constexpr (lanes >= warp_threads) {
      return ~0U;
    } else {
      return ((1U << lanes) - 1) << threadIdx.x % warp_threads / lanes * lanes;
    }
  }
  // Another lane's value, by whole words.
  template <class T, class Move>
  static __device__ T moved(const T& value, Move move) {
    static_assert(sizeof(T) % sizeof(unsigned) == 0);
    unsigned words[sizeof(T) / sizeof(unsigned)];
    memcpy(words, &value, sizeof(T));
    for (unsigned& word : words) word = move(word);
    T result;
    memcpy(&result, words, sizeof(T));
    return result;
  }
};

// A block's threads as rows of `columns` each, at most as many as there are threads: what adjacent threads of a row have
// lies side by side. Threads that make no whole row have nothing to do.
class Strip {
 public:
  __device__ explicit Strip(int columns)
      : columns_(columns), rows_(block_threads / columns), row_(static_cast<int>(threadIdx.x) / columns) {}

  __device__ int columns() const { return columns_; }
  __device__ int column() const { return static_cast<int>(threadIdx.x) - row_ * columns_; }
  __device__ bool is_first_row() const { return row_ == 0; }

  // value(0), …, value(n - 1) of each column, combined in an order that n alone decides; n may differ between columns.
  template <class Partial, class Value, class Combine>
  __device__ Partial reduce(std::int64_t n, Partial identity, Value value, Combine combine) const {
    __shared__ Partial partials[block_threads];
    const auto thread = static_cast<int>(threadIdx.x);
    partials[thread] = combined(row_, row_ < rows_ ? n : 0, rows_, identity, value, combine);
    for (int height = rows_; height > 1;) {
      const int half = (height + 1) / 2;
      __syncthreads();
      if (row_ + half < height) partials[thread] = combine(partials[thread], partials[thread + half * columns_]);
      height = half;
    }
    __syncthreads();
    const Partial partial = partials[column()];
    __syncthreads();  // partials are written again
    return partial;
  }

 private:
  int columns_, rows_, row_;
};

}  // namespace asyncgrad::detail::cuda
