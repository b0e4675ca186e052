// Holds operations back, so that tests see what the engine does meanwhile.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "asyncgrad/core/engine/engine.h"

namespace asyncgrad::tests {

// Holds back the operations numbered `first` to `last` on every thread but the one that made the gate, until open() or
// its end. There may be one gate at a time, and at least one worker must be left to run what is to go on.
class Gate {
 public:
  // Holds back the next `count` operations that are queued.
  explicit Gate(std::uint64_t count = 1)
      : first_(detail::Engine::get().next_number()), last_(first_ + count - 1), owner_(std::this_thread::get_id()) {
    current() = this;
    detail::Engine::get().set_hook([](std::uint64_t number) { current()->pass(number); });
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  // Every operation must be finished or held by the gate when it ends.
  ~Gate() {
    open();
    mark().wait();
    detail::Engine::get().set_hook(nullptr);
  }

  // Blocks until a worker is held.
  void wait_until_held() {
    detail::Engine::get().queue().offer_staged();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return held_; });
  }
  // Blocks until `count` kernels were begun since the gate was made, held ones included.
  void wait_until_begun(int count) {
    detail::Engine::get().queue().offer_staged();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, count] { return begun_ >= count; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  bool is_open() {
    const std::lock_guard lock(mutex_);
    return is_open_;
  }

 private:
  static Gate*& current() {
    static Gate* gate = nullptr;
    return gate;
  }
  void pass(std::uint64_t number) {
    std::unique_lock lock(mutex_);
    ++begun_;
    changed_.notify_all();
    if (number < first_ || number > last_ || std::this_thread::get_id() == owner_) return;
    held_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_open_; });
  }

  std::uint64_t first_, last_;
  std::thread::id owner_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false, is_open_ = false;
  int begun_ = 0;
};

}  // namespace asyncgrad::tests
