// The book's stopwatches. They measure how long a part of a program takes on the calling thread, and wait for no queued
// operation: to time the operations, wait for them before the end. One thread at a time may use an object.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace asyncgrad::experiment {

// Measures repeatedly, in seconds, by a clock that is never set back. It starts when it is constructed.
class Timer {
 public:
  void start() { start_ns_ = now_ns(); }
  // Records the time since the last start(), and returns it.
  double stop();

  // The recorded times in their order, their sum and their average. The average of no times is 0.
  const std::vector<double>& times() const { return times_; }
  double sum() const;
  double avg() const;
  std::vector<double> cumsum() const;  // the sum of the first one, of the first two, and so on

 private:
  static std::int64_t now_ns();

  std::int64_t start_ns_ = now_ns();
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

}  // namespace asyncgrad::experiment
