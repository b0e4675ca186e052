#include "asyncgrad/core/wait_hooks.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/core/forks.h"
#include "tests/core/engine/other_fill.h"
#include "tests/support/forked.h"
#include "tests/support/sanitizer.h"

namespace asyncgrad {
namespace {

std::atomic<int> begun{0}, ended{0}, asked{0};
std::atomic<bool> interrupts{false}, may_go_on{false};

class WaitHooksTest : public testing::Test {
 protected:
  WaitHooksTest() {
    wait_all();  // what another test has left
    begun = ended = asked = 0;
    interrupts = may_go_on = false;
    set_wait_hooks(&hooks_);
  }
  ~WaitHooksTest() override {
    may_go_on = true;
    set_wait_hooks(nullptr);
    wait_all();
  }
  // An operation that ends once `may_go_on` is true.
  static Tensor held() {
    return custom("held", {.shape = {1}}, {},
                  [](const CustomCall& call) {
                    while (!may_go_on) std::this_thread::yield();
                    call.output<float>()[0] = 3;
                  },
                  {.cost = 1 << 30});
  }

 private:
  static constexpr WaitHooks hooks_{.begin = [] { ++begun; },
                                    .end = [] { ++ended; },
                                    .is_interrupted =
                                        [] {
                                          // Only a thread that does not compute comes to this question.
                                          if (++asked == 2 && !interrupts) may_go_on = true;
                                          return interrupts.load();
                                        }};
};

TEST_F(WaitHooksTest, AThreadThatWaitsComputesWhatIsBrief) {
  set_engine_options({.workers = 1, .inline_tiny = false});
  const Tensor x = held();
  EXPECT_EQ((full({10}, 5) * 2).to_vector<float>(), std::vector<float>(10, 10));
  EXPECT_FALSE(may_go_on);
  set_wait_hooks(nullptr);
  may_go_on = true;
  set_engine_options({});
}

TEST_F(WaitHooksTest, AThreadThatWaitsAsksAndLeavesTheRestToWorkers) {
  const Tensor x = held();
  EXPECT_EQ(x.item(), 3);
  EXPECT_GE(asked, 2);
  EXPECT_GE(begun, 1);
  EXPECT_EQ(begun, ended);
}

std::atomic<std::thread::id> waiting_thread{};
std::atomic<int> tiles_here{0}, tiles_run{0};

void sleep_in_tile(const detail::KernelCall& call, int) {
  if (waiting_thread.load() == std::this_thread::get_id()) ++tiles_here;
  if (++tiles_run == 1) std::ranges::fill(call.data<float>(0), call.data<float>(0) + call.numel(0), 0.0F);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// It may come too late for the tiles of one operation, but not for those of all.
TEST_F(WaitHooksTest, AThreadThatWaitsComputesTilesThatAreLeft) {
  set_engine_options({.workers = 2});
  const tests::OtherFill fill({.run = sleep_in_tile, .tiles = [](const detail::KernelCall&) { return 8; }});
  waiting_thread = std::this_thread::get_id();
  tiles_here = 0;
  for (int round = 0; tiles_here == 0 && round < 1000; ++round) {
    tiles_run = 0;
    zeros({8}).wait();
  }
  EXPECT_GT(tiles_here.load(), 0);
  EXPECT_EQ(begun, ended);
}

TEST_F(WaitHooksTest, AThreadThatComputesTilesAsksInBetween) {
  set_engine_options({.workers = 2});
  constexpr int tiles = 5000;
  const tests::OtherFill fill({.run = sleep_in_tile, .tiles = [](const detail::KernelCall&) { return tiles; }});
  interrupts = true;
  tiles_run = 0;
  const Tensor x = zeros({8});
  EXPECT_THROW(x.wait(), Interrupted);
  EXPECT_LT(tiles_run.load(), tiles);
  interrupts = false;
  x.wait();
  EXPECT_EQ(tiles_run.load(), tiles);
}

// Each round has two operations of several tiles. The thread that waits may finish the first one, and then leaves.
TEST_F(WaitHooksTest, AThreadThatComputesATileWakesAnotherForWhatFollows) {
  for (const Schedule schedule : {Schedule::oldest_first, Schedule::first_ready}) {
    set_engine_options({.workers = 2, .schedule = schedule});
    const Tensor x = ones({100'000});
    for (int round = 0; round < (tests::is_sanitized ? 2000 : 20'000); ++round) (-(-x)).wait();
  }
}

TEST_F(WaitHooksTest, AnInterruptedWaitLeavesTheWorkQueued) {
  interrupts = true;
  const Tensor x = held();
  EXPECT_THROW(x.wait(), Interrupted);
  EXPECT_EQ(begun, ended);
  EXPECT_EQ(engine_figures().queued, 1);
  interrupts = false;
  EXPECT_EQ(x.item(), 3);
}

TEST_F(WaitHooksTest, AWaitForNewOptionsIsInterrupted) {
  const EngineOptions before = engine_options();
  interrupts = true;
  const Tensor x = held();
  EXPECT_THROW(set_engine_options({.schedule = Schedule::first_ready}), Interrupted);
  EXPECT_EQ(engine_options().schedule, before.schedule);
  EXPECT_EQ(engine_figures().queued, 1);
  interrupts = false;
  set_engine_options(before);
  EXPECT_EQ(x.item(), 3);
}

TEST_F(WaitHooksTest, WhatIsFinishedCallsNothing) {
  const Tensor x = ones({2}) + 1;
  may_go_on = true;
  wait_all();
  const int before = begun;
  x.wait();
  EXPECT_EQ(sum(x).item(), 4);
  EXPECT_EQ(begun, before);
}

// The binding of a language calls set_forks_wait(false) after it has interrupted a wait for a fork.
TEST_F(WaitHooksTest, AForkNeedNotWait) {
  if (tests::hangs_in_child != nullptr) GTEST_SKIP() << tests::hangs_in_child;
  const Tensor x = held();
  set_forks_wait(false);
  const pid_t child = tests::fork_child([] { return true; });
  set_forks_wait(true);
  EXPECT_EQ(tests::status_of(child), 0);
  EXPECT_EQ(engine_figures().queued, 1);
  EXPECT_EQ(x.item(), 3);
}

// An interpreter that ends takes its threads down where they come back to it: in a hook.
void end_thread() { pthread_exit(nullptr); }
bool end_thread_asked() { pthread_exit(nullptr); }

TEST_F(WaitHooksTest, MayEndTheThread) {
  static constexpr auto nothing = [] {};
  static constexpr WaitHooks ending[] = {
      {.begin = end_thread, .end = [] { ++ended; }, .is_interrupted = [] { return false; }},
      {.begin = nothing, .end = end_thread, .is_interrupted = [] { return may_go_on = true, false; }},
      {.begin = nothing, .end = end_thread, .is_interrupted = [] { return true; }},
      {.begin = nothing, .end = [] { ++ended; }, .is_interrupted = end_thread_asked}};
  for (const WaitHooks& hooks : ending) {
    may_go_on = false;
    const Tensor x = held();
    set_wait_hooks(&hooks);
    std::atomic<bool> has_returned{false};
    std::thread([&] {
      try {
        x.wait();
      } catch (const Interrupted&) {
      }
      has_returned = true;
    }).join();
    EXPECT_FALSE(has_returned);
    may_go_on = true;
    set_wait_hooks(nullptr);
    EXPECT_EQ(x.item(), 3);  // nothing of the thread is left behind
  }
  EXPECT_EQ(ended, 0) << "no hook is called after the one that ended the thread";
}

// The lock of an interpreter: a thread of its language holds it except while it waits.
std::mutex language;

TEST(WaitHooksOfALanguageWithALockTest, LetAThreadSetOptionsWhileOthersWait) {
  static constexpr WaitHooks hooks{.begin = [] { language.unlock(); },
                                   .end = [] { language.lock(); },
                                   .is_interrupted =
                                       [] {
                                         const std::lock_guard lock(language);
                                         return false;
                                       }};
  set_wait_hooks(&hooks);
  const EngineOptions before = engine_options();
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> queued{0};
    const auto wait_for_one = [&queued] {
      const std::lock_guard lock(language);
      const Tensor x = custom("slow", {.shape = {1}}, {},
                              [](const CustomCall& call) {
                                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                                call.output<float>()[0] = 3;
                              },
                              {.cost = 1 << 30});
      ++queued;
      EXPECT_EQ(x.item(), 3);
    };
    std::thread first(wait_for_one), second(wait_for_one);
    while (queued < 2) std::this_thread::yield();
    {
      const std::lock_guard lock(language);
      EngineOptions options = before;
      options.workers = 1 + round % 2;
      set_engine_options(options);
    }
    first.join();
    second.join();
  }
  set_wait_hooks(nullptr);
  set_engine_options(before);
}

}  // namespace
}  // namespace asyncgrad
