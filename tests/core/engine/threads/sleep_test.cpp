// Sleeping and waking: a model of it in every interleaving, and the real thing under load.
#include "asyncgrad/core/engine/threads/sleep.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace asyncgrad::detail {
namespace {

// --- The model. ---
//
// Three threads: some sleep when they find no work, the others make pieces of work and wake them. A step is one atomic
// operation of the real code, and the changes of the word are those of SleepState itself. All states are visited that
// can be reached by taking the steps in any order.

constexpr int threads = 3;

struct Thread {
  enum At : std::uint8_t {
    look,         // takes a piece of work if there is one
    prepare,      // found none
    look_again,   //
    cancel,       // found one after all
    answer,       // commit(): was_called()
    block,        // commit(): not called yet
    answer_late,  // commit(): was_called() in its loop
    enter,        // the kernel compares
    asleep,       // in the kernel: no step of its own
    unblock,      // commit() returns
    make,         // a producer makes a piece of work
    see,          // wake() looks whether anybody has prepared
    call,         // wake() calls
    shake,        // wake() wakes a thread in the kernel
    done,         // a producer has made all its pieces
  };
  At at = look;
  std::uint8_t pieces = 0;  // that a producer has still to make
  auto operator<=>(const Thread&) const = default;
};

struct World {
  std::uint64_t word = 0;
  int work = 0;
  std::array<Thread, threads> all{};
  auto operator<=>(const World&) const = default;
};

class Model {
 public:
  explicit Model(bool has_second_look = true) : has_second_look_(has_second_look) {}

  // Goes through everything that can happen from there.
  void explore(const World& world) {
    const auto [entry, is_new] = visited_.try_emplace(world, open);
    if (!is_new) {
      if (entry->second == open) has_cycle_ = true;
      return;
    }
    const std::vector<World> next = successors(world);
    if (next.empty()) judge(world);
    for (const World& after : next) explore(after);
    visited_[world] = closed;
  }

  std::size_t states() const { return visited_.size(); }
  bool has_cycle() const { return has_cycle_; }           // something can go on for ever
  int lost() const { return lost_; }                      // states in which all sleep beside work
  int wrong_ends() const { return wrong_ends_; }          // the word does not count the threads that sleep
  int max_calls_left() const { return max_calls_left_; }  // calls that nobody will answer

 private:
  enum Visit : std::uint8_t { open, closed };

  std::vector<World> successors(const World& world) const {
    std::vector<World> found;
    for (std::size_t i = 0; i < threads; ++i) step(world, i, found);
    return found;
  }

  void step(const World& before, std::size_t i, std::vector<World>& found) const {
    World after = before;
    Thread& thread = after.all[i];
    const SleepState state = SleepState::of(before.word);
    const auto becomes = [&](SleepState changed, Thread::At at) {
      after.word = changed.word();
      thread.at = at;
    };
    switch (thread.at) {
      case Thread::look:
      case Thread::look_again: {
        const bool is_second = thread.at == Thread::look_again;
        const bool finds = before.work > 0 && (!is_second || has_second_look_);
        if (finds) --after.work;
        thread.at =
            finds ? (is_second ? Thread::cancel : Thread::look) : (is_second ? Thread::answer : Thread::prepare);
        break;
      }
      case Thread::prepare:
        becomes(state.prepared(), Thread::look_again);
        break;
      case Thread::cancel:
        becomes(state.cancelled(), Thread::look);
        break;
      case Thread::answer:
        state.calls != 0 ? becomes(state.answered(), Thread::look) : becomes(state, Thread::block);
        break;
      case Thread::block:
        becomes(state.blocking(), Thread::answer_late);
        break;
      case Thread::answer_late:
        state.calls != 0 ? becomes(state.answered(), Thread::unblock) : becomes(state, Thread::enter);
        break;
      case Thread::enter:
        thread.at = state.calls != 0 ? Thread::answer_late : Thread::asleep;
        break;
      case Thread::unblock:
        becomes(state.unblocked(), Thread::look);
        break;
      case Thread::make:
        ++after.work;
        --thread.pieces;
        thread.at = Thread::see;
        break;
      case Thread::see:
        thread.at = state.waiting != 0 ? Thread::call : next_piece(thread);
        break;
      case Thread::call:
        becomes(state.woken(1), state.blocked != 0 && state.calls_of(1) != 0 ? Thread::shake : next_piece(thread));
        break;
      case Thread::shake:
        return shake(before, i, found);
      case Thread::asleep:
      case Thread::done:
        return;
    }
    found.push_back(after);
  }

  // The kernel wakes any one of the threads that sleep in it, if there are any.
  void shake(const World& before, std::size_t i, std::vector<World>& found) const {
    World after = before;
    after.all[i].at = next_piece(before.all[i]);
    bool has_woken = false;
    for (Thread& sleeper : after.all) {
      if (sleeper.at != Thread::asleep) continue;
      sleeper.at = Thread::answer_late;
      found.push_back(after);
      sleeper.at = Thread::asleep;
      has_woken = true;
    }
    if (!has_woken) found.push_back(after);
  }

  static Thread::At next_piece(const Thread& producer) { return producer.pieces > 0 ? Thread::make : Thread::done; }

  // Nothing can happen any more.
  void judge(const World& world) {
    const SleepState state = SleepState::of(world.word);
    const auto asleep = std::ranges::count(world.all, Thread::asleep, &Thread::at);
    if (world.work > 0) ++lost_;
    if (state.waiting != asleep || state.blocked != asleep) ++wrong_ends_;
    max_calls_left_ = std::max(max_calls_left_, static_cast<int>(state.calls));
  }

  const bool has_second_look_;
  std::map<World, Visit> visited_;
  bool has_cycle_ = false;
  int lost_ = 0, wrong_ends_ = 0, max_calls_left_ = 0;
};

World world_of(int producers, std::uint8_t pieces) {
  World world;
  for (std::size_t i = 0; i < static_cast<std::size_t>(producers); ++i) {
    world.all[i] = {.at = Thread::make, .pieces = pieces};
  }
  return world;
}

class SleepModel : public testing::TestWithParam<std::pair<int, std::uint8_t>> {};

TEST_P(SleepModel, LosesNoWakeUpAndEndsInEveryInterleaving) {
  Model model;
  model.explore(world_of(GetParam().first, GetParam().second));
  EXPECT_GT(model.states(), 100U);
  EXPECT_EQ(model.lost(), 0);
  EXPECT_EQ(model.wrong_ends(), 0);
  EXPECT_EQ(model.max_calls_left(), 0);
  EXPECT_FALSE(model.has_cycle()) << "a thread may spin for ever";
}

INSTANTIATE_TEST_SUITE_P(ProducersAndPieces, SleepModel,
                         testing::Values(std::pair{1, std::uint8_t{1}}, std::pair{1, std::uint8_t{3}},
                                         std::pair{1, std::uint8_t{6}}, std::pair{2, std::uint8_t{1}},
                                         std::pair{2, std::uint8_t{3}}));

// The model finds the fault that it is made to find.
TEST(SleepModel, FindsTheLostWakeUpOfAThreadThatDoesNotLookTwice) {
  Model model(/*has_second_look=*/false);
  model.explore(world_of(1, 1));
  EXPECT_GT(model.lost(), 0);
}

// --- The real thing. ---

TEST(Sleep, CallsOnlyThreadsThatHavePrepared) {
  Sleep sleep;
  sleep.wake(1);
  EXPECT_FALSE(sleep.has_calls());
  sleep.prepare();
  sleep.wake(5);
  EXPECT_TRUE(sleep.was_called());
  EXPECT_FALSE(sleep.was_called());
  sleep.prepare();
  sleep.wake(1);
  sleep.cancel();  // answers
  EXPECT_FALSE(sleep.has_calls());
  sleep.prepare();
  sleep.wake(1);
  sleep.commit();  // was called: returns at once
}

// Two threads hand a ball to and fro, and each sleeps when it does not have it. A lost wake-up would hang the test.
TEST(Sleep, LosesNoWakeUp) {
  constexpr int rounds = 20'000;
  std::atomic<int> ball{0};
  Sleep sleeps[2];
  const auto play = [&](int me) {
    for (int turn = me; turn < 2 * rounds; turn += 2) {
      while (ball.load(std::memory_order_seq_cst) != turn) {
        sleeps[me].prepare();
        if (ball.load(std::memory_order_seq_cst) == turn) {
          sleeps[me].cancel();
        } else {
          sleeps[me].commit();
        }
      }
      ball.store(turn + 1, std::memory_order_seq_cst);
      sleeps[1 - me].wake(1);
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  EXPECT_EQ(ball.load(), 2 * rounds);
}

// Pieces of work for several threads, some of which spin instead of sleeping in the kernel.
TEST(Sleep, WakesAsManyAsThereIsWorkFor) {
  constexpr int pieces = 20'000;
  Sleep sleep;
  std::atomic<int> work{0}, done{0};
  const auto take = [&work] {
    int left = work.load(std::memory_order_seq_cst);
    while (left > 0 && !work.compare_exchange_weak(left, left - 1, std::memory_order_seq_cst)) {
    }
    return left > 0;
  };
  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&, spins = i % 2 == 0] {
      while (done.load(std::memory_order_seq_cst) < pieces) {
        if (take()) {
          if (++done == pieces) sleep.wake(UINT32_MAX);
          continue;
        }
        sleep.prepare();
        if (work.load(std::memory_order_seq_cst) > 0 || done.load(std::memory_order_seq_cst) >= pieces) {
          sleep.cancel();
          continue;
        }
        bool was_called = false;
        for (int look = 0; spins && look < 100 && !was_called; ++look) was_called = sleep.was_called();
        if (!was_called) sleep.commit();
      }
    });
  }
  for (int i = 0; i < pieces; ++i) {
    work.fetch_add(1, std::memory_order_seq_cst);
    sleep.wake(1);
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(done.load(), pieces);
}

}  // namespace
}  // namespace asyncgrad::detail
