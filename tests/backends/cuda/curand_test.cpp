// The random words of kernels beside cuRAND's, whose generator is a header that also runs on a CPU.
#define QUALIFIERS static inline
#include <cuda_runtime_api.h>
#include <curand_philox4x32_x.h>
#include <gtest/gtest.h>

#include "asyncgrad/backends/cuda/kernels/philox.cuh"

namespace asyncgrad::tests {
namespace {

TEST(CudaPhilox, HasTheWordsOfCuRand) {
  std::uint64_t seed = 0, block = 1;
  for (int i = 0; i < 10'000; ++i) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    block = block * 2862933555777941757U + 3037000493U;
    const uint4 counter{static_cast<unsigned>(block >> 16), static_cast<unsigned>(block >> 48),
                        static_cast<unsigned>(block & 0xFFFF), 0};
    const uint2 key{static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)};
    const uint4 expected = curand_Philox4x32_10(counter, key);
    const detail::cuda::Words words = detail::cuda::philox(seed, block);
    ASSERT_EQ(words.word[0], expected.x);
    ASSERT_EQ(words.word[1], expected.y);
    ASSERT_EQ(words.word[2], expected.z);
    ASSERT_EQ(words.word[3], expected.w);
  }
}

}  // namespace
}  // namespace asyncgrad::tests
