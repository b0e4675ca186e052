// Whether operations may start. Internal.
#pragma once

#include <atomic>
#include <cstdint>

namespace asyncgrad::detail {

// Every thread reads it before it starts an operation. Any thread may call any function.
class RunState {
 public:
  // A test's function, or null. It is called before each operation that is to be computed, with its number, or with the
  // next number for an operation that is computed at its call. What it throws becomes the operation's failure.
  using Hook = void (*)(std::uint64_t number);

  // True once the process is about to end: nothing more may start. Sequentially consistent, as the exit first forbids
  // starts and then looks for threads that compute, and a thread that computes has taken its seat before it asks.
  bool is_exiting() const { return is_exiting_.load(std::memory_order_seq_cst); }
  // Called by the thread that ends the process. False if another call has begun it.
  bool begin_exit() {
    is_exiting_here_ = true;
    return !is_exiting_.exchange(true, std::memory_order_seq_cst);
  }
  // Operations older than `number` are to be computed before the exit. Relaxed: it is a figure, which the exit reads
  // later in the same thread, or after it has synchronised with the thread that queued them.
  void need_before_exit(std::uint64_t number) {
    std::uint64_t needed = needed_.load(std::memory_order_relaxed);
    while (needed < number && !needed_.compare_exchange_weak(needed, number, std::memory_order_relaxed)) {
    }
  }
  std::uint64_t needed_before_exit() const { return needed_.load(std::memory_order_relaxed); }
  // The calling thread ends the process.
  static bool is_exiting_here() { return is_exiting_here_; }

  Hook hook() const { return hook_.load(std::memory_order_acquire); }
  void set_hook(Hook hook) { hook_.store(hook, std::memory_order_release); }

 private:
  // NOLINTNEXTLINE(readability-identifier-naming): a member
  static inline constinit thread_local bool is_exiting_here_ = false;

  std::atomic<bool> is_exiting_{false};
  std::atomic<std::uint64_t> needed_{0};
  std::atomic<Hook> hook_{nullptr};  // release, acquire: what the test has prepared for it is seen
};

}  // namespace asyncgrad::detail
