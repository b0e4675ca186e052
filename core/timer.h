// The book's stopwatch: what a part of a program takes on the calling thread. Neither class waits for anything that is
// queued: where the work itself is to be timed, wait for it before the end. One thread uses an object at a time.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace asyncgrad {

// Measures repeatedly, in seconds of a clock that is never set back. Runs from its construction on.
class Timer {
 public:
  void start() { start_ = Clock::now(); }
  // The time since the last start(), which is recorded, too.
  double stop();

  // Of the recorded times, in their order; 0 or nothing if there is none.
  const std::vector<double>& times() const { return times_; }
  double sum() const;
  double avg() const;
  std::vector<double> cumsum() const;  // the sums of the first, the first two, …

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
  std::vector<double> times_;
};

// Prints "description: 0.1234 sec" at the end of its scope.
class Benchmark {
 public:
  [[nodiscard]] explicit Benchmark(std::string description = "Done");
  Benchmark(const Benchmark&) = delete;
  Benchmark& operator=(const Benchmark&) = delete;
  ~Benchmark();

 private:
  std::string description_;
  Timer timer_;
};

}  // namespace asyncgrad
