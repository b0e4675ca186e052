// How threads sleep and wake. Internal.
//
// A thread that finds no work falls asleep in two steps, and looks for work once more between them:
//
//   sleep.prepare();                          // 1. from here on wake() may call this thread
//   if (there_is_work()) return sleep.cancel();
//   sleep.commit();                           // 2. returns when it is called
//
// A thread that makes work visible calls wake() afterwards. Either it sees that the other thread has prepared, or the
// other thread's second look sees the work: docs/engine.md has the argument, step by step.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace asyncgrad::detail {

// The state of one Sleep, and how each function changes it. All of it is one atomic word, so each change is one step.
// The test takes these steps in every order in which three threads can take them.
struct SleepState {
  std::uint32_t calls = 0;    // made by wake(), not answered yet
  std::uint16_t waiting = 0;  // threads that have prepared and were neither called nor cancelled
  std::uint16_t blocked = 0;  // threads that the kernel has to wake

  constexpr bool operator==(const SleepState&) const = default;

  constexpr SleepState prepared() const { return {calls, static_cast<std::uint16_t>(waiting + 1), blocked}; }
  // A thread that has prepared goes on without sleeping. If all threads that prepared were called, so was this one, and
  // it answers the call.
  constexpr SleepState cancelled() const {
    return waiting > 0 ? SleepState{calls, static_cast<std::uint16_t>(waiting - 1), blocked} : answered();
  }
  // The calls that a wake() of `count` threads makes: never more than there are threads to answer them.
  constexpr std::uint32_t calls_of(std::uint32_t count) const { return std::min<std::uint32_t>(count, waiting); }
  constexpr SleepState woken(std::uint32_t count) const {
    return {calls + calls_of(count), static_cast<std::uint16_t>(waiting - calls_of(count)), blocked};
  }
  constexpr SleepState answered() const { return {calls - 1, waiting, blocked}; }
  constexpr SleepState blocking() const { return {calls, waiting, static_cast<std::uint16_t>(blocked + 1)}; }
  constexpr SleepState unblocked() const { return {calls, waiting, static_cast<std::uint16_t>(blocked - 1)}; }

  // The calls are the lower half, on which the kernel lets threads sleep.
  constexpr std::uint64_t word() const {
    return std::uint64_t{blocked} << 48 | std::uint64_t{waiting} << 32 | std::uint64_t{calls};
  }
  static constexpr SleepState of(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word), static_cast<std::uint16_t>(word >> 32),
            static_cast<std::uint16_t>(word >> 48)};
  }
};

// Thread safety: any thread may call any function. A thread that prepares then cancels, commits, or spins until it was
// called. All accesses are sequentially consistent: "prepare, then look" and "make visible, then wake" are
// store-then-load pairs.
class Sleep {
 public:
  void prepare() {
    change([](SleepState state) { return state.prepared(); });
  }
  // Ends the preparation: the thread goes on without sleeping.
  void cancel() {
    change([](SleepState state) { return state.cancelled(); });
  }
  // Returns when the thread is called.
  void commit();
  // Does the same, but returns false if the thread was not called for some milliseconds or a signal came. The thread
  // then calls cancel().
  bool commit_for(int milliseconds);
  // Calls up to `count` of the threads that have prepared. Never blocks; without such a thread it is one load.
  void wake(std::uint32_t count) {
    if (SleepState::of(word_.load(std::memory_order_seq_cst)).waiting != 0) wake_some(count);
  }

  // Takes the place of commit() in a thread that polls. True if the thread was called and has answered.
  bool was_called() {
    std::uint64_t word = word_.load(std::memory_order_seq_cst);
    while (SleepState::of(word).calls != 0) {
      if (word_.compare_exchange_weak(word, SleepState::of(word).answered().word(), std::memory_order_seq_cst))
        return true;
    }
    return false;
  }
  // Whether was_called() may return true; for a thread that fetches something before it answers.
  bool has_calls() const { return SleepState::of(word_.load(std::memory_order_seq_cst)).calls != 0; }

  // Called in the child of a fork, in which no other thread exists.
  void forget_threads() { word_.store(0, std::memory_order_relaxed); }

 private:
  template <class Change>
  SleepState change(const Change& changed) {
    std::uint64_t word = word_.load(std::memory_order_seq_cst);
    while (!word_.compare_exchange_weak(word, changed(SleepState::of(word)).word(), std::memory_order_seq_cst)) {
    }
    return SleepState::of(word);
  }
  void wake_some(std::uint32_t count);

  // Every thread reads it, and threads write it when they run out of work.
  alignas(128) std::atomic<std::uint64_t> word_{0};
};

}  // namespace asyncgrad::detail
