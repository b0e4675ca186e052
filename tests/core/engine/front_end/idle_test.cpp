// Tests what waits for an idle engine while other threads go on queueing.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "tests/core/engine/engine_test.h"
#include "tests/support/forked.h"
#include "tests/support/message_of.h"
#include "tests/support/sanitizer.h"

namespace asyncgrad::tests {
namespace {

using testing::AnyOf, testing::HasSubstr;

// Calls a function again and again on a thread of its own.
class Repeating {
 public:
  explicit Repeating(std::function<void()> function)
      : thread_([this, function = std::move(function)] {
          while (!is_over_) function();
        }) {}
  Repeating(const Repeating&) = delete;
  Repeating& operator=(const Repeating&) = delete;
  ~Repeating() {
    is_over_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

// A sanitizer slows threads that wait for each other most of all.
constexpr int times = looks_for_races ? 4 : is_sanitized ? 8 : 300;

// Some operations, of which the queue is never empty for long.
constexpr int some = is_sanitized ? 100 : 500;
Floats increments(int count) {
  Tensor x = zeros({64});
  for (int i = 0; i < count; ++i) x = x + 1;
  return x.to_vector<float>();
}

class IdleTest : public EngineTest {};

TEST_F(IdleTest, OptionsAreSetWhileOthersQueue) {
  std::int64_t capacity = 0;
  const auto set_others = [&] {
    ++capacity;
    set_engine_options({.workers = static_cast<int>(capacity % 3 + 1),
                        .schedule = capacity % 5 == 0 ? Schedule::immediate : Schedule::oldest_first,
                        .queue_capacity = capacity % 2 == 0 ? 100 : 1000,
                        .inline_tiny = capacity % 7 == 0,
                        .cpu_parts = static_cast<int>(capacity % 2 + 1)});
  };
  const Repeating setting(set_others), looking([] {
    EXPECT_GE(engine_options().workers, 1);
    EXPECT_GE(memory_figures().live_bytes, 0);
    EXPECT_FALSE(engine_report().empty());
    recover();
  });
  const Repeating queueing([] { EXPECT_EQ(increments(some), Floats(64, some)); });
  for (int i = 0; i < (is_sanitized ? 4 : 30); ++i) ASSERT_EQ(increments(some), Floats(64, some));
}

// Data that is handed over waits for memory, by the order of a device that options may replace.
TEST_F(IdleTest, OptionsAreSetWhileOthersWaitForMemory) {
  bool is_small = false;
  const Repeating setting([&] {
    is_small = !is_small;
    set_engine_options({.workers = 2,
                        .memory_budget = MemoryBudget::bytes(1 << 20),
                        .queue_capacity = is_small ? 64 : 128,
                        .inline_tiny = false,
                        .cpu_parts = 2});
  });
  const std::vector<float> values(1 << 16, 1);
  for (int i = 0; i < times; ++i) {
    Tensor x = Tensor::from(values, {1 << 16});
    x = x + Tensor::from(values, {1 << 16});
    ASSERT_EQ((x * 2).to_vector<float>()[7], 4);
  }
}

// A thread that never waits keeps no other one from setting options, adding an executor, or forking.
TEST_F(IdleTest, IsReachedAlthoughAnotherThreadNeverWaits) {
  const Repeating queueing([x = zeros({5000})]() mutable { x = tanh(x + 1); });
  for (const std::int64_t capacity : {100, 1000}) {
    set_engine_options({.workers = 2, .queue_capacity = capacity, .inline_tiny = false});
    const Tensor read = source("read", {.shape = {1}}, [](const CustomCall& call) { call.output<float>()[0] = 3; });
    EXPECT_EQ(read.item(), 3);
  }
  if (no_threads_in_child != nullptr || hangs_in_child != nullptr) return;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(status_of(fork_child([] { return increments(100) == Floats(64, 100); })), 0);
}

// Who has prepared for a source queues it, whatever options have been set since.
TEST_F(IdleTest, SourcesGoOnWhileOptionsAreSet) {
  std::int64_t count = 0;
  const auto set_others = [&] {
    ++count;
    set_engine_options({.workers = 2, .queue_capacity = 100 + count % 2 * 900, .inline_tiny = false, .cpu_parts = 2});
  };
  set_others();  // cpu:1 is there from now on
  const Repeating setting(set_others);
  for (int i = 0; i < times; ++i) {
    const Tensor read = source("read", {.shape = {1}}, [](const CustomCall& call) { call.output<float>()[0] = 3; });
    ASSERT_EQ((read.to("cpu:1") * 2).item(), 6);
  }
}

// A source for a part of the CPU that is gone is refused; if it was queued, it is computed.
TEST_F(IdleTest, SourcesOfAPartThatGoesAreRefused) {
  int parts = 1;
  const auto set_others = [&] {
    parts = 3 - parts;
    set_engine_options({.workers = 2, .inline_tiny = false, .cpu_parts = parts});
  };
  set_others();
  const Repeating setting(set_others);
  for (int i = 0; i < times; ++i) {
    const auto queue = [] {
      const auto write = [](const CustomCall& call) { call.output<float>()[0] = 3; };
      EXPECT_EQ(source("read", {.shape = {1}}, write, {DeviceType::cpu, 1}).item(), 3);
    };
    EXPECT_THAT(message_of(queue), AnyOf("nothing was thrown", HasSubstr("there is no cpu:1 here"),
                                         HasSubstr("cpu:1 is not in use any more")));
  }
}

// What the program gave along with an operation may queue when it ends, on the thread that options stop.
TEST_F(IdleTest, OptionsAreSetWhileWhatEndsQueues) {
  struct Queues {
    ~Queues() { EXPECT_EQ((ones({5000}) + 1).shape(), Shape({5000})); }
  };
  const Repeating queueing([] {
    source("read", {.shape = {1}}, [queues = std::make_shared<Queues>()](const CustomCall& call) {
      call.output<float>()[0] = 3;
    }).wait();
  });
  for (int i = 0; i < (is_sanitized ? 8 : 100); ++i) {
    set_engine_options({.workers = 2, .queue_capacity = i % 2 == 0 ? 100 : 1000, .inline_tiny = false});
  }
}

// What is unfinished may need what another thread is about to queue, so that one does not stand back for ever.
TEST_F(IdleTest, LetsThoseQueueWhomTheQueueWaitsFor) {
  std::promise<float> promise;
  std::atomic<bool> has_begun{false};
  const Tensor read = source("read", {.shape = {1}}, [&](const CustomCall& call) {
    has_begun = true;
    call.output<float>()[0] = promise.get_future().get();
  });
  while (!has_begun) std::this_thread::yield();
  std::thread setting([] { set_engine_options({.workers = 1, .inline_tiny = false}); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // by then it waits, most likely
  promise.set_value((ones({5000}) * 2).to_vector<float>()[0]);
  EXPECT_EQ(read.item(), 2);
  setting.join();
  EXPECT_EQ(engine_options().workers, 1);
}

}  // namespace
}  // namespace asyncgrad::tests
