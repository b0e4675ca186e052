// Who sleeps until something is finished. Internal.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "asyncgrad/core/engine/threads/bed.h"

namespace asyncgrad::detail {

class Work;

// What a thread waits for.
struct Goal {
  std::uint64_t number = 0;
  bool all = false;  // everything older than `number` is finished; else: the operation `number` is
  const std::atomic<std::uint64_t>* oldest = nullptr;  // of the order of a device, if `all` is meant in that
};

// A thread of the program within a stream, for as long as it lives.
class Guest {
 public:
  explicit Guest(std::atomic<int>& count) : count_(count) { count_.fetch_add(1, std::memory_order_seq_cst); }
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;
  ~Guest() { count_.fetch_sub(1, std::memory_order_seq_cst); }

 private:
  std::atomic<int>& count_;
};

// The threads of all crews that sleep until their goals are reached. Any thread may call any function.
//
// Nobody is missed: whoever waits is in the list before it looks for its goal a last time, and whoever finishes an
// operation looks at the list after that. Both are store-then-load and sequentially consistent.
class Waiters {
 public:
  struct Waiter {
    const Work* work;  // tells whether the goal is reached
    const Goal* goal;
    Bed* bed;
  };
  void add(const Waiter& waiter);
  void remove(const Waiter& waiter);

  // The operation `number` is finished, and so is all before `oldest`, or before what it has become since.
  void wake(std::uint64_t number, std::uint64_t oldest) {
    if (std::max(number, oldest) >= earliest_.load(std::memory_order_seq_cst)) wake_reached();
  }

  // Around a fork, as of Crew. In the child nobody waits but the calling thread, which does not.
  void hold_still() { mutex_.lock(); }
  void let_go_on() { mutex_.unlock(); }
  void forget_threads();

 private:
  static constexpr std::uint64_t never = UINT64_MAX;

  void wake_reached();
  void note_earliest();

  std::mutex mutex_;  // over waiters_
  std::vector<Waiter> waiters_;
  // The smallest number of a goal: before that nobody's is reached.
  alignas(128) std::atomic<std::uint64_t> earliest_{never};
};

}  // namespace asyncgrad::detail
