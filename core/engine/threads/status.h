// The activity of every thread at this moment, for reports. Internal.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace asyncgrad::detail {

// The activity of a worker, or of a thread of the program that waits. Setting it is one relaxed store.
//
// Thread safety: a thread sets its own; all() may be called by any thread, also while others hang.
class ThreadStatus {
 public:
  enum class Doing : std::uint8_t {
    nothing,    // it is in none of the engine's functions
    searching,  // it looks for an operation that it can compute
    computing,  // operation `number`
    sleeping,   // until it is called
    waiting,    // asleep until `number`, or everything before it, is finished
  };
  struct Line {
    std::string name;  // of a worker; empty: a thread of the program
    int system_id;     // as the system's tools show it
    Doing doing;
    std::uint64_t number;
  };

  static void set(Doing doing, std::uint64_t number = 0) {
    // Relaxed: a report is a little out of date in any case.
    word.store(std::uint64_t{static_cast<std::uint8_t>(doing)} << doing_shift | number, std::memory_order_relaxed);
  }
  // The calling thread appears in reports from here on, until it ends: a worker by its name, which must outlive it, a
  // thread of the program without one. Never throws.
  static void add_worker(const char* name) { add(name); }
  static void add_this_thread() {
    if (!is_listed) add(nullptr);
  }
  static std::vector<Line> all();
  // Called in the child of a fork.
  static void forget_other_threads();

 private:
  static constexpr int doing_shift = 56;
  struct Entry;
  class List;

  static void add(const char* name);

  static inline constinit thread_local bool is_listed = false;
  static inline constinit thread_local std::atomic<std::uint64_t> word{0};
};

}  // namespace asyncgrad::detail
