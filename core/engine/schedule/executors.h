// All executors of the process. Internal.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>

#include "asyncgrad/core/engine/schedule/executor.h"

namespace asyncgrad::detail {

// Any thread may call any function, but clear() only while they are replaced.
class Executors {
 public:
  // Counts a thread of the program as inside an executor, which stays for as long as this lives.
  class Visit {
   public:
    explicit Visit(Executors& executors) : Visit(executors.visits_) {}
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    ~Visit() { count_.fetch_sub(1, std::memory_order_seq_cst); }

   protected:
    explicit Visit(std::atomic<int>& count) : count_(count) { count_.fetch_add(1, std::memory_order_seq_cst); }

   private:
    std::atomic<int>& count_;
  };
  // The visit of a thread that waits, or computes while it waits.
  class WaitingVisit : public Visit {
   public:
    explicit WaitingVisit(Executors& executors) : Visit(executors.waiting_visits_) {}
  };

  // Made while nothing is queued, by the thread that holds the front end's lock. Ends all threads, once the last
  // visitors have left; as long as it lives, executors may go and others come.
  class Replacement {
   public:
    explicit Replacement(Executors& executors);
    Replacement(const Replacement&) = delete;
    Replacement& operator=(const Replacement&) = delete;
    // Sequentially consistent, as for those who visit.
    ~Replacement() { executors_.are_replaced_.store(false, std::memory_order_seq_cst); }

   private:
    Executors& executors_;
  };

  // Throws Error if there are too many.
  Executor& add(std::unique_ptr<Executor> executor);
  void clear();
  // Acquire: they are seen whole. Some are added while others are at work.
  std::span<const std::unique_ptr<Executor>> all() const {
    return std::span(executors_).first(static_cast<std::size_t>(count_.load(std::memory_order_acquire)));
  }

  // True if some thread of the program waits, or computes while it waits.
  bool has_waiting_visitors() const { return waiting_visits_.load(std::memory_order_seq_cst) > 0; }
  // True if some thread of the program is inside an executor, whether it waits or not.
  bool are_visited() const { return has_waiting_visitors() || visits_.load(std::memory_order_seq_cst) > 0; }
  // True if they may go at any moment. A visitor without the front end's lock asks before it looks at any of them. The
  // visit is counted first, and whoever replaces them says so before it counts the visits: one sees the other.
  bool are_replaced() const { return are_replaced_.load(std::memory_order_seq_cst); }
  // True if some device or some thread computes, other than the calling thread on a seat of `executor`.
  bool others_compute(Executor& executor) const;
  // Called when an executor has noted that it refused an operation.
  void note_refused() { refused_.store(true, std::memory_order_seq_cst); }
  // Called when memory was returned, f has moved, or a limit has risen.
  void retry_refused() {
    if (refused_.load(std::memory_order_seq_cst)) retry_all_refused();
  }
  // Called when `device`, a part of the CPU, has no memory left: frees what the other parts cache.
  void trim_other_parts(const DeviceState& device);
  // Called in the child of a fork, in which no visit is left. Relaxed: the calling thread is the only one.
  void forget_threads() {
    waiting_visits_.store(0, std::memory_order_relaxed);
    visits_.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr int max_count = 64;  // up to four for each of 8 parts of the CPU, and one for each GPU

  void retry_all_refused();
  bool retry_each();

  std::array<std::unique_ptr<Executor>, max_count> executors_;
  std::atomic<int> count_{0};  // release after the last one is there
  std::atomic<int> waiting_visits_{0}, visits_{0};
  std::atomic<bool> are_replaced_{false};
  alignas(128) std::atomic<bool> refused_{false};  // by some executor; sequentially consistent with f
};

}  // namespace asyncgrad::detail
