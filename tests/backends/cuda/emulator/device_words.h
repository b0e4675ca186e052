// The words of CUDA that nvcc knows by itself, for kernels that another compiler compiles as C++. Included before them.
//
// cuda_runtime_api.h defines __global__, __device__ and the like as nothing. A block runs on one thread of the system,
// so its shared memory is what that thread keeps.
#pragma once

#include <cuda_runtime_api.h>

#include "asyncgrad/core/location.h"

#undef __shared__
#define __shared__ static thread_local
#undef __launch_bounds__
#define __launch_bounds__(...)

namespace asyncgrad::tests::emulator {

// Returns when all threads of the block are here. The place is a line of the kernel.
void meet_block(const Location& place);
// Returns when all lanes of the mask are here.
void meet_warp(unsigned mask, const Location& place);
// Does the same, and returns lane `from`'s word.
unsigned exchange(unsigned mask, unsigned word, unsigned from, const Location& place);

}  // namespace asyncgrad::tests::emulator

inline constinit thread_local uint3 threadIdx{}, blockIdx{}, blockDim{}, gridDim{};

template <class T>
T __ldg(const T* address) {
  return *address;
}
template <class T>
T __ldcs(const T* address) {
  return *address;
}
inline unsigned long long atomicCAS(unsigned long long* address, unsigned long long expected, unsigned long long word) {
  __atomic_compare_exchange_n(address, &expected, word, /*weak=*/false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
inline unsigned long long atomicMax(unsigned long long* address, unsigned long long word) {
  unsigned long long before = __atomic_load_n(address, __ATOMIC_RELAXED);
  while (before < word &&
         !__atomic_compare_exchange_n(address, &before, word, /*weak=*/true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return before;
}
inline void __syncthreads(asyncgrad::Location place = asyncgrad::Location::current()) {
  asyncgrad::tests::emulator::meet_block(place);
}
inline void __syncwarp(unsigned mask = ~0U, asyncgrad::Location place = asyncgrad::Location::current()) {
  asyncgrad::tests::emulator::meet_warp(mask, place);
}
// Lanes are taken in groups of `width`, among which `from` and `by` count.
inline unsigned __shfl_sync(unsigned mask, unsigned word, int from, int width = 32,
                            asyncgrad::Location place = asyncgrad::Location::current()) {
  const unsigned lane = threadIdx.x % 32, in_group = static_cast<unsigned>(width) - 1;
  return asyncgrad::tests::emulator::exchange(mask, word, (lane & ~in_group) + (static_cast<unsigned>(from) & in_group),
                                              place);
}
inline unsigned __shfl_down_sync(unsigned mask, unsigned word, unsigned by, int width = 32,
                                 asyncgrad::Location place = asyncgrad::Location::current()) {
  const unsigned lane = threadIdx.x % 32, in_group = static_cast<unsigned>(width) - 1;
  const bool is_there = (lane & in_group) + by < static_cast<unsigned>(width);
  return asyncgrad::tests::emulator::exchange(mask, word, is_there ? lane + by : lane, place);
}
// The lanes of the mask that have this value.
inline unsigned __match_any_sync(unsigned mask, unsigned long long value,
                                 asyncgrad::Location place = asyncgrad::Location::current()) {
  const auto low = static_cast<unsigned>(value), high = static_cast<unsigned>(value >> 32);
  unsigned same = 0;
  for (unsigned from = 0; from < 32; ++from) {
    if ((mask >> from & 1) == 0) continue;
    const bool is_low = asyncgrad::tests::emulator::exchange(mask, low, from, place) == low;
    const bool is_high = asyncgrad::tests::emulator::exchange(mask, high, from, place) == high;
    if (is_low && is_high) same |= 1U << from;
  }
  return same;
}
// The place of the lowest bit, from 1; 0 for none.
inline int __ffs(int word) { return __builtin_ffs(word); }
