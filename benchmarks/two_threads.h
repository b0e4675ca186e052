// A worker beside the calling thread, for measuring tiles without the engine.
#pragma once

#include <omp.h>

#include <atomic>
#include <functional>
#include <thread>

namespace asyncgrad::benchmarks {

// Two threads, each with one OpenMP thread, that share the tiles of a job. The second one spins between jobs while it
// is `awake` and takes no time otherwise.
class TwoThreads {
 public:
  TwoThreads() : second_([this] { serve(); }) {}
  TwoThreads(const TwoThreads&) = delete;
  TwoThreads& operator=(const TwoThreads&) = delete;
  ~TwoThreads() {
    stop_ = true;
    wake();
    second_.join();
  }

  void wake() {
    awake_ = true;
    awake_.notify_one();
  }
  void sleep() { awake_ = false; }

  // Runs job(0) … job(tiles - 1) and returns when all are done. Awake.
  void run(int tiles, const std::function<void(int)>& job) {
    job_ = &job;
    tiles_ = tiles;
    next_ = 0;
    const int number = ++started_;
    take_tiles();
    while (finished_ != number) {
    }
  }

 private:
  void take_tiles() {
    for (int tile = next_++; tile < tiles_; tile = next_++) (*job_)(tile);
  }
  void serve() {
    omp_set_num_threads(1);
    for (int done = 0; !stop_;) {
      awake_.wait(false);
      if (started_ == done) continue;
      done = started_;
      take_tiles();
      finished_ = done;
    }
  }

  const std::function<void(int)>* job_ = nullptr;
  int tiles_ = 0;
  std::atomic<int> next_{0}, started_{0}, finished_{0};
  std::atomic<bool> awake_{false}, stop_{false};
  std::thread second_;
};

}  // namespace asyncgrad::benchmarks
