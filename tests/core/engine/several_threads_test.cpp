// Several threads that queue and wait at once, and workers that go to sleep meanwhile.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "tests/core/engine/engine_test.h"
#include "tests/support/sanitizer.h"

namespace asyncgrad::tests {
namespace {

// Runs the program of one thread, with tensors and random numbers of its own and with `shared`.
Floats result_of_thread(std::uint64_t seed, const Tensor& shared) {
  Generator generator(seed);
  Tensor x = randn({200}, {.generator = &generator});
  for (int i = 0; i < 60; ++i) {
    Tensor noise = uniform({200}, -1, 1, {.generator = &generator});
    x = tanh(x * 0.5 + noise * shared);
    if (i % 7 == 0) x += shared;
    if (i % 20 == 0) x.wait();
  }
  return x.to_vector<float>();
}

void queue_from_many_threads(const EngineOptions& options) {
  constexpr std::size_t count = 4;
  set_engine_options(options);
  const Tensor shared = arange(0, 200) * 0.01;
  std::vector<Floats> expected, results(count);
  for (std::size_t seed = 0; seed < count; ++seed) expected.push_back(result_of_thread(seed, shared));
  std::vector<std::thread> threads;
  for (std::size_t seed = 0; seed < count; ++seed) {
    threads.emplace_back([&, seed] { results[seed] = result_of_thread(seed, Tensor(shared)); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results, expected);
  mark().wait();
}

TEST_F(EngineTest, SeveralThreadsMayQueueAtOnce) {
  queue_from_many_threads({.workers = 2, .inline_tiny = false});
  queue_from_many_threads({.workers = 2, .inline_tiny = true});
  queue_from_many_threads({.workers = 3, .queue_capacity = 7, .inline_tiny = false});
  queue_from_many_threads({.workers = 1, .memory_budget = MemoryBudget::bytes(0)});
  queue_from_many_threads({.workers = 2, .schedule = Schedule::first_ready, .inline_tiny = false});
  queue_from_many_threads({.schedule = Schedule::immediate});
}

TEST_F(EngineTest, SeveralThreadsMayWaitForOneTensor) {
  for (int round = 0; round < 200; ++round) {
    const Tensor x = full({3000}, round);
    const Tensor y = x * 2;
    std::vector<std::thread> threads;
    std::atomic<int> right{0};
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&right, round, y] { right += y.to_vector<float>()[2999] == 2.0F * round ? 1 : 0; });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(right.load(), 3);
  }
}

// A thread that computes is stopped while the ring comes round, so that its slots belong to other operations
// afterwards.
TEST_F(EngineTest, LosesNothingWhenTheRingComesRound) {
  for (const int workers : {2, 4}) {
    set_engine_options({.workers = workers, .queue_capacity = 64, .inline_tiny = false});
    const Tensor x = ones({2});
    Tensor y;
    for (int i = 0; i < (is_sanitized ? 50'000 : 300'000); ++i) y = x + 1;
    EXPECT_EQ(y.to_vector<float>(), Floats(2, 2));
  }
}

// A wait may be for an operation that another thread is queueing at this moment, without a wake-up for it.
TEST_F(EngineTest, AWaitForAllMayMeetAnotherThreadThatQueues) {
  for (const int workers : {1, 3}) {
    set_engine_options({.workers = workers, .inline_tiny = false});
    const Tensor x = ones({2});
    x.wait();
    for (int round = 0; round < 3000; ++round) {
      std::atomic<int> waiting{0};
      Tensor y;
      std::thread other([&] {
        while (waiting.load() == 0) {
        }
        y = x + 1;
      });
      waiting = 1;
      mark().wait();
      other.join();
      ASSERT_EQ(y.to_vector<float>(), Floats(2, 2));
    }
  }
}

// Several workers and waiting threads go to sleep and are woken many times. A lost wake-up would hang the test.
TEST_F(EngineTest, LosesNoWakeUp) {
  for (const int workers : {1, 2, 5}) {
    set_engine_options({.workers = workers, .queue_capacity = 3, .inline_tiny = false});
    const auto play = [] {
      Tensor x = zeros({2});
      for (int i = 0; i < 1500; ++i) {
        x += 1;
        if (i % 3 == 0) x.wait();
      }
      EXPECT_EQ(x.to_vector<float>(), Floats(2, 1500));
    };
    std::thread other(play);
    play();
    other.join();
  }
}

}  // namespace
}  // namespace asyncgrad::tests
