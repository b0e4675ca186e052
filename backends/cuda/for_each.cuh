// A thread an element. Internal.
#pragma once

#include <algorithm>
#include <cstdint>

#include "asyncgrad/backends/cuda/launch.h"

namespace asyncgrad::detail::cuda {

inline constexpr int block_threads = 256;
inline constexpr std::int64_t most_blocks = 65536;

template <class Body>
__global__ void __launch_bounds__(block_threads) run_for_each(std::int64_t count, Body body) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride)
    body(i);
}

// body(i) for 0 <= i < count, in any order.
template <class Body>
void for_each(const KernelCall& call, std::int64_t count, const Body& body) {
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>(std::min((count + block_threads - 1) / block_threads, most_blocks));
  run_for_each<<<blocks, block_threads, 0, stream_of(call)>>>(count, body);
}

}  // namespace asyncgrad::detail::cuda
