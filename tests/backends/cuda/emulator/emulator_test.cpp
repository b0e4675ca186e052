// The emulator runs kernels as CUDA does, and ends the process where CUDA's behaviour would be undefined.
#include "tests/backends/cuda/emulator/emulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "tests/backends/cuda/emulator/device_words.h"
#include "tests/support/sanitizer.h"

namespace asyncgrad::tests {
namespace {

constexpr unsigned threads = 64;

void run(unsigned blocks, const std::function<void()>& kernel) {
  emulator::launch("a kernel", blocks, threads, nullptr, kernel);
}

TEST(Emulator, RunsEveryThreadOnce) {
  for (const unsigned blocks : {1U, 2U, 7U}) {
    std::vector<int> runs(100);
    run(blocks, [&] {
      for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < runs.size(); i += gridDim.x * blockDim.x)
        ++runs[i];
    });
    EXPECT_EQ(runs, std::vector<int>(100, 1));
  }
}

TEST(Emulator, HasBarriersAndSharedMemory) {
  for (int repeat = 0; repeat < 10; ++repeat) {
    std::vector<unsigned> turned(threads);
    run(1, [&] {
      __shared__ unsigned shared[threads];
      shared[threadIdx.x] = threadIdx.x;
      __syncthreads();
      turned[threadIdx.x] = shared[(threadIdx.x + 1) % threads];
    });
    std::vector<unsigned> expected(threads);
    std::iota(expected.begin(), expected.end(), 1U);
    expected.back() = 0;
    EXPECT_EQ(turned, expected);
  }
}

TEST(Emulator, HasAtomicFunctions) {
  unsigned long long first = 0, last = 0;
  std::vector<unsigned long long> before(threads);
  run(1, [&] {
    before[threadIdx.x] = atomicCAS(&first, 0ULL, threadIdx.x + 1ULL);
    atomicMax(&last, threadIdx.x + 1ULL);
  });
  EXPECT_EQ(last, threads);
  ASSERT_TRUE(first >= 1 && first <= threads);
  std::vector<unsigned long long> expected(threads, first);
  expected[first - 1] = 0;  // the only one that found nothing there
  EXPECT_EQ(before, expected);
}

TEST(Emulator, ExchangesWordsOfAWarp) {
  std::vector<unsigned> sums(threads), firsts(threads), odd(threads);
  run(1, [&] {
    unsigned sum = threadIdx.x;
    for (unsigned by = 8; by > 0; by /= 2) sum += __shfl_down_sync(~0U, sum, by, 16);
    sums[threadIdx.x] = sum;
    firsts[threadIdx.x] = __shfl_sync(~0U, sum, 0, 16);
    if (threadIdx.x % 2 == 1) odd[threadIdx.x] = __shfl_sync(0xAAAAAAAA, threadIdx.x, 3);
    __syncwarp();
  });
  for (unsigned i = 0; i < threads; ++i) {
    const unsigned first = i / 16 * 16;
    EXPECT_EQ(firsts[i], 16 * first + 120);
    EXPECT_EQ(sums[first], firsts[i]);
    EXPECT_EQ(odd[i], i % 2 == 0 ? 0 : i / 32 * 32 + 3);
  }
}

TEST(Emulator, OrdersBlocksAndThreadsByChance) {
  std::vector<unsigned> first_blocks, first_threads;
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::vector<unsigned> order, grid;
    std::mutex mutex;  // under the thread sanitizer two threads of the system run the blocks
    run(4, [&] {
      const std::lock_guard lock(mutex);
      if (order.empty() || order.back() != blockIdx.x) order.push_back(blockIdx.x);
      grid.push_back(threadIdx.x);
    });
    first_blocks.push_back(order.front());
    first_threads.push_back(grid.front());
  }
  EXPECT_THAT(first_blocks, testing::Contains(0U));
  EXPECT_THAT(first_blocks, testing::Contains(1U));
  EXPECT_THAT(first_threads, testing::Contains(testing::Lt(32U)));
  EXPECT_THAT(first_threads, testing::Contains(testing::Ge(32U)));
}

// What CUDA leaves undefined, and the message.
struct Undefined {
  const char* name;
  void (*kernel)();
  const char* message;
};

class EmulatorFails : public testing::TestWithParam<Undefined> {};

TEST_P(EmulatorFails, WhereCudaIsUndefined) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(run(1, GetParam().kernel),
               testing::ContainsRegex(std::string("emulator: ") + GetParam().message + ".*of a kernel, seed [0-9]+"));
}

const Undefined undefined[] = {
    {"ABarrierOfSome",
     [] {
       if (threadIdx.x < 40) __syncthreads();
     },
     "waits for a thread that does not come: block 0, thread [0-9]+ at .*emulator_test.cpp:[0-9]+"},
    {"TwoBarriers",
     [] {
       if (threadIdx.x < 40) {
         __syncthreads();
       } else {
         __syncthreads();
       }
     },
     "threads meet at different barriers: block 0, thread"},
    {"AMaskWithAnEndedLane",
     [] {
       if (threadIdx.x != 5) __syncwarp();
     },
     "waits for a thread that does not come: block 0, thread"},
    {"TwoPlacesOfAWarp",
     [] {
       if (threadIdx.x % 2 == 0) {
         __syncwarp();
       } else {
         __syncwarp();
       }
     },
     "lanes of a mask meet at different places: block 0, thread"},
    {"ALaneOutsideOfItsMask", [] { __syncwarp(1); }, "a lane is not in its own mask: block 0, thread"},
    {"AShuffleFromOutsideOfTheMask",
     [] {
       if (threadIdx.x % 32 < 16) __shfl_sync(0xFFFF, 1, 20);
     },
     "a shuffle reads a lane that is not in the mask: block 0, thread"}};

INSTANTIATE_TEST_SUITE_P(At, EmulatorFails, testing::ValuesIn(undefined),
                         [](const auto& info) { return info.param.name; });

TEST(EmulatorLaunch, RefusesTooManyThreads) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(emulator::launch("a kernel", 1, 1025, nullptr, [] {}),
               "emulator: a launch of 1 blocks of 1025 threads, of a kernel");
}

#ifdef __SANITIZE_THREAD__

// Races that the thread sanitizer must see, each with the kernel that has a barrier in its place.
TEST(EmulatorRaces, WithinABlockAreSeen) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto neighbours = [](bool has_barrier) {
    run(1, [=] {
      __shared__ unsigned shared[threads];
      shared[threadIdx.x] = threadIdx.x;
      if (has_barrier) __syncthreads();
      volatile unsigned next = shared[(threadIdx.x + 33) % threads];
      static_cast<void>(next);
    });
  };
  neighbours(true);
  EXPECT_EXIT(
      {
        neighbours(false);
        std::exit(0);
      },
      testing::ExitedWithCode(66), "data race");
}

TEST(EmulatorRaces, BetweenBlocksAreSeen) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto write = [](unsigned stride) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::vector<unsigned> out(1000);
      run(8, [&] { out[blockIdx.x * stride + threadIdx.x] = blockIdx.x; });
    }
  };
  write(threads);
  EXPECT_EXIT(
      {
        write(threads - 1);
        std::exit(0);
      },
      testing::ExitedWithCode(66), "data race");
}

#endif

#ifdef __SANITIZE_ADDRESS__

TEST(EmulatorAccesses, BeyondAnArrayAreSeen) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::unique_ptr<int[]> array(new int[threads - 1]);
  EXPECT_DEATH(run(1, [&] { array[threadIdx.x] = 1; }), "heap-buffer-overflow");
}

#endif

}  // namespace
}  // namespace asyncgrad::tests
