#include "asyncgrad/core/engine/threads/workers.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace asyncgrad::detail {
namespace {

// Pieces of work with the numbers 1, 2, …, which begin in this order. A goal is the number of pieces to finish.
class Pieces final : public Work {
 public:
  bool run_one(Turn& turn) override {
    std::uint64_t done = begun_.load();
    do {
      if (done == offered_.load() || done + 1 > turn.limit) return false;
    } while (!begun_.compare_exchange_weak(done, done + 1));
    const int now = ++at_once_;
    for (int before = max_at_once_; before < now && !max_at_once_.compare_exchange_weak(before, now);) {
    }
    if (run_ != nullptr) run_(done + 1);
    --at_once_;
    ++finished_;
    ring_.order().finish(done + 1, [](std::uint64_t) {});
    waiters_.wake(done + 1, ring_.oldest().load());
    return true;
  }
  void put_back(Turn&) override {}
  bool offer_staged() override {
    const std::uint64_t held = held_.exchange(0);
    offered_ += held;
    return held > 0;
  }
  bool has_ready() const override { return begun_.load() < offered_.load(); }
  std::uint64_t enter_thread() override { return static_cast<std::uint64_t>(++inside_); }
  void leave_thread(std::uint64_t) override { --inside_; }

  void offer() {
    workers_->ensure_started();
    ++offered_;
    workers_->notify(1);
  }
  void hold() { ++held_; }
  std::uint64_t finished() const { return finished_.load(); }
  int max_at_once() const { return max_at_once_.load(); }
  int inside() const { return inside_.load(); }

  Pieces() { ring_.make(1 << 14, 1); }

  Workers* workers_ = nullptr;
  Ring ring_;
  Waiters waiters_{ring_};
  void (*run_)(std::uint64_t number) = nullptr;

 private:
  std::atomic<std::uint64_t> held_{0}, offered_{0}, begun_{0}, finished_{0};
  std::atomic<int> at_once_{0}, max_at_once_{0}, inside_{0};
};

class WorkersOf : public testing::TestWithParam<int> {
 protected:
  WorkersOf() {
    pieces_.workers_ = &workers_;
    workers_.configure(GetParam(), /*may_spin=*/GetParam() <= 2, "worker");
  }
  Pieces pieces_;
  Workers workers_{pieces_, pieces_.ring_, pieces_.waiters_};
};

// Each piece is offered when the last one is finished, so that workers and the waiting thread fall asleep in between
// again and again. A lost wake-up would hang the test.
TEST_P(WorkersOf, LosesNoWakeUp) {
  for (std::uint64_t number = 1; number <= 10'000; ++number) {
    pieces_.offer();
    const Goal goal{.number = number + 1, .all = true};
    // In every third wait this thread may compute nothing, so that a worker must.
    workers_.help(goal, number % 3 == 0 ? 0 : number);
    ASSERT_EQ(pieces_.finished(), number);
  }
}

// Nothing wakes a worker for a held piece, and this thread computes nothing. A worker that was woken for something else
// asks for held pieces before it sleeps.
TEST_P(WorkersOf, AsksForWhatIsHeldBeforeAWorkerSleeps) {
  for (std::uint64_t round = 1; round <= 2000; ++round) {
    pieces_.hold();
    pieces_.offer();
    workers_.help({.number = 2 * round + 1, .all = true}, 0);
    ASSERT_EQ(pieces_.finished(), 2 * round);
  }
}

TEST_P(WorkersOf, ComputesOnAsManySeatsAsWorkers) {
  pieces_.run_ = [](std::uint64_t) { std::this_thread::yield(); };
  std::vector<std::thread> waiting;
  for (int thread = 0; thread < 3; ++thread) {
    waiting.emplace_back([this] { workers_.help({.number = 3001, .all = true}, UINT64_MAX); });
  }
  for (int i = 0; i < 3000; ++i) pieces_.offer();
  for (std::thread& thread : waiting) thread.join();
  EXPECT_EQ(pieces_.finished(), 3000U);
  EXPECT_LE(pieces_.max_at_once(), GetParam());
}

TEST_P(WorkersOf, StartsAgainAfterAStop) {
  for (std::uint64_t round = 1; round <= 20; ++round) {
    pieces_.offer();
    workers_.help({.number = round + 1, .all = true}, 0);
    workers_.stop();
    EXPECT_EQ(pieces_.inside(), 0);
    workers_.configure(GetParam(), /*may_spin=*/GetParam() <= 2, "worker");
  }
  EXPECT_EQ(pieces_.finished(), 20U);
}

INSTANTIATE_TEST_SUITE_P(Workers, WorkersOf, testing::Values(1, 2, 5));

}  // namespace
}  // namespace asyncgrad::detail
