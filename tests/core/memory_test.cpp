#include "asyncgrad/core/memory.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"

namespace asyncgrad {
namespace {

TEST(MemoryFigures, FollowTensorsAndTheirViews) {
  set_engine_options({});
  const MemoryFigures before = memory_figures();
  reset_peaks();
  {
    const Tensor x = ones({1000});  // 4000 bytes are 63 cache lines
    x.wait();
    const Tensor view = x.slice(0, 10), reshaped = x.reshape({10, 100});
    EXPECT_EQ(memory_figures().live_bytes - before.live_bytes, 4032);
    EXPECT_EQ(memory_figures().serial_live_bytes - before.serial_live_bytes, 4032);
    EXPECT_EQ(memory_figures().waiting_bytes, 0);
  }
  mark().wait();
  EXPECT_EQ(memory_figures().live_bytes, before.live_bytes);
  EXPECT_EQ(memory_figures().serial_live_bytes, before.serial_live_bytes);
  EXPECT_EQ(memory_figures().peak_live_bytes - before.live_bytes, 4032);
  EXPECT_EQ(memory_figures().serial_peak_bytes - before.serial_live_bytes, 4032);
  reset_peaks();
  EXPECT_EQ(memory_figures().peak_live_bytes, before.live_bytes);
  EXPECT_EQ(memory_figures().serial_peak_bytes, before.serial_live_bytes);
}

TEST(MemoryFigures, CacheIsTrimmed) {
  ones({1'000'000}).wait();
  mark().wait();
  EXPECT_GT(memory_figures().cached_bytes, 0);
  trim_cache();
  EXPECT_EQ(memory_figures().cached_bytes, 0);
}

// Large results are computed on workers, small ones at the call.
TEST(MemoryFigures, CacheIsBounded) {
  for (const std::int64_t most : {std::int64_t{0}, std::int64_t{1} << 20}) {
    set_engine_options({.workers = 2, .max_cached_bytes = most});
    EXPECT_LE(memory_figures().cached_bytes, most);
    Tensor large = ones({1'000'000}), small = ones({10});
    for (int i = 0; i < 20; ++i) {
      large = large + 1;
      small = small + 1;
      EXPECT_LE(memory_figures().cached_bytes, most);
    }
    mark().wait();
    EXPECT_LE(memory_figures().cached_bytes, most);
    EXPECT_EQ(large.to_vector<float>(), std::vector<float>(1'000'000, 21));
    EXPECT_EQ(small.to_vector<float>(), std::vector<float>(10, 21));
  }
  set_engine_options({});
}

// A thread may drop tensors, and even make some, after all that the library itself does at its end.
TEST(MemoryFigures, CountWhatComesAndGoesAtTheEndOfAThread) {
  set_engine_options({});
  mark().wait();
  const MemoryFigures before = memory_figures();
  Tensor last;
  std::thread([&last] {
    struct Keeper {
      ~Keeper() {
        tensors.resize(5);
        last = full({8}, 2);
      }
      std::vector<Tensor> tensors;
      Tensor& last;
    };
    thread_local Keeper keeper{.tensors = {}, .last = last};
    for (int i = 0; i < 10; ++i) keeper.tensors.push_back(ones({8}));
    mark().wait();
  }).join();
  EXPECT_EQ(last.to_vector<float>(), std::vector<float>(8, 2));
  EXPECT_EQ(memory_figures().live_bytes - before.live_bytes, 64);
  EXPECT_EQ(memory_figures().serial_live_bytes - before.serial_live_bytes, 64);
  last = Tensor();
  EXPECT_EQ(memory_figures().live_bytes, before.live_bytes);
  EXPECT_EQ(memory_figures().serial_live_bytes, before.serial_live_bytes);
}

TEST(MemoryFigures, OfADeviceThatIsNotThereAreRefused) {
  EXPECT_EQ(tests::message_of([] { memory_figures("cpu:9"); }),
            "[device] there is no cpu:9 here, only cpu; EngineOptions::cpu_parts makes several of the CPU");
}

TEST(ResidentBytes, GrowWithWhatIsWritten) {
  trim_cache();
  const std::int64_t before = resident_bytes();
  ASSERT_GT(before, 0);
  const Tensor x = ones({16 << 20});
  x.wait();
  EXPECT_GT(resident_bytes(), before + (48 << 20));
}

}  // namespace
}  // namespace asyncgrad
