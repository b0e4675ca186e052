// Runs a thread for each element, or a team of threads for each item. Internal.
#pragma once

#include <algorithm>
#include <cstdint>

#include "asyncgrad/backends/cuda/kernels/launch_kernel.cuh"
#include "asyncgrad/backends/cuda/kernels/team.cuh"
#include "asyncgrad/backends/cuda/launch.h"

namespace asyncgrad::detail::cuda {

inline constexpr std::int64_t max_blocks = 65536;

inline unsigned blocks_of(std::int64_t threads) {
  return static_cast<unsigned>(std::min((threads + block_threads - 1) / block_threads, max_blocks));
}

// However many blocks there are, they do all the work.
template <class Body>
__global__ void __launch_bounds__(block_threads) run_for_each(std::int64_t count, const __grid_constant__ Body body) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * block_threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x; i < count; i += stride)
    body(i);
}

// body(i) for 0 <= i < count, in any order.
template <class Body>
void for_each(const KernelCall& call, std::int64_t count, const Body& body) {
  if (count > 0) launch(run_for_each<Body>, blocks_of(count), block_threads, stream_of(call), count, body);
}

// Each thread asks memory for several elements before it stores the first.
template <class Body>
__global__ void __launch_bounds__(block_threads)
    run_for_several(std::int64_t count, const __grid_constant__ Body body) {
  constexpr std::int64_t of_block = std::int64_t{block_threads} * ahead;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * of_block;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * of_block + threadIdx.x; i < count; i += stride) {
    decltype(body.load(i)) loaded[ahead];
#pragma unroll
    for (int j = 0; j < ahead; ++j) {
      if (i + j * block_threads < count) loaded[j] = body.load(i + j * block_threads);
    }
#pragma unroll
    for (int j = 0; j < ahead; ++j) {
      if (i + j * block_threads < count) body.store(i + j * block_threads, loaded[j]);
    }
  }
}

// body.store(i, body.load(i)) for 0 <= i < count, in any order: a store may touch what the same i loads, and no more.
template <class Body>
void for_several(const KernelCall& call, std::int64_t count, const Body& body) {
  if (count > 0) {
    launch(run_for_several<Body>, blocks_of((count + ahead - 1) / ahead), block_threads, stream_of(call), count, body);
  }
}

// The blocks that a multiprocessor has room for at the least: Body::blocks_at_once, which bounds the registers, or 1.
template <class Body>
constexpr int blocks_at_once() {
  if constexpr (requires { Body::blocks_at_once; }) {
    return Body::blocks_at_once;
  } else {
    return 1;
  }
}

template <int lanes, class Body>
__global__ void __launch_bounds__(block_threads, blocks_at_once<Body>())
    run_for_teams(std::int64_t count, const __grid_constant__ Body body) {
  constexpr int teams = block_threads / lanes;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * teams;
  std::int64_t item = static_cast<std::int64_t>(blockIdx.x) * teams + threadIdx.x / lanes;
  for (; item < count; item += stride) body(Team<lanes>(), item);
}

// body(team, item) for 0 <= item < count, in any order; a team has `lanes` lanes.
template <int lanes, class Body>
void for_teams(const KernelCall& call, std::int64_t count, const Body& body) {
  if (count > 0) {
    launch(run_for_teams<lanes, Body>, blocks_of(count * lanes), block_threads, stream_of(call), count, body);
  }
}

// The same, with as many lanes as suit items of `elements` elements.
template <class Body>
void for_teams_of(std::int64_t elements, const KernelCall& call, std::int64_t count, const Body& body) {
  if (elements <= 16) {
    for_teams<1>(call, count, body);
  } else if (elements <= 128) {
    for_teams<8>(call, count, body);  // a warp has four items
  } else if (elements <= 1024) {
    for_teams<warp_threads>(call, count, body);
  } else {
    for_teams<block_threads>(call, count, body);
  }
}

template <class Body>
__global__ void __launch_bounds__(block_threads)
    run_for_strips(std::int64_t count, int columns, const __grid_constant__ Body body) {
  for (std::int64_t item = blockIdx.x; item < count; item += gridDim.x) body(Strip(columns), item);
}

// body(strip, item) for 0 <= item < count, in any order; a strip has `columns` columns.
template <class Body>
void for_strips(int columns, const KernelCall& call, std::int64_t count, const Body& body) {
  if (count > 0) {
    launch(run_for_strips<Body>, blocks_of(count * block_threads), block_threads, stream_of(call), count, columns,
           body);
  }
}

}  // namespace asyncgrad::detail::cuda
