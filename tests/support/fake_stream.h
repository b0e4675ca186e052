// The parts of fake asynchronous devices: streams that are threads, and events between them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace asyncgrad::tests {

// Does its tasks one after another, on a thread of its own. The destructor waits for all of them.
class FakeStream {
 public:
  FakeStream() : thread_([this] { run(); }) {}
  FakeStream(const FakeStream&) = delete;
  FakeStream& operator=(const FakeStream&) = delete;
  ~FakeStream() {
    push({});
    thread_.join();
  }

  void push(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_one();
  }

 private:
  void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !tasks_.empty(); });
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      if (task == nullptr) return;
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  std::thread thread_;  // the last, as it uses all of the above
};

// The recordings of an event, one after another, each with a number.
class FakeRecordings {
 public:
  // Only the thread that issues may call these, or any thread under its lock.
  std::uint64_t record() { return ++recorded_; }
  std::uint64_t recorded() const { return recorded_; }
  // Whether the last recording is done.
  bool is_done() const {
    const std::lock_guard lock(mutex_);
    return done_ >= recorded_;
  }

  // The time of the last recording that is done.
  std::chrono::steady_clock::time_point reached() const {
    const std::lock_guard lock(mutex_);
    return reached_;
  }

  // The streams call these.
  void reach(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    done_ = number;
    reached_ = std::chrono::steady_clock::now();
    changed_.notify_all();
  }
  void wait_for(std::uint64_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, number] { return done_ >= number; });
  }

 private:
  std::uint64_t recorded_ = 0, done_ = 0;
  std::chrono::steady_clock::time_point reached_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace asyncgrad::tests
