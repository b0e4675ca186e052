// Programs drawn at random, to be run under every way of running them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "asyncgrad/asyncgrad.h"

namespace asyncgrad::tests {

struct ProgramOptions {
  std::uint64_t seed = 0;
  int steps = 60;
  std::int64_t largest = 40'000;  // elements of a tensor at most
  bool with_failures = false;     // some operations fail while they run
};

// What a program leaves behind.
struct Outcome {
  std::vector<std::string> seen;  // what its waits saw, in order: values as text of their bits, or the error's message
  std::int64_t peak_live = 0, serial_peak = 0, limit = 0;  // bytes; limit: -1 is unbounded
  std::int64_t left_live = 0;                              // after everything was dropped and finished
  int faults = 0;                                          // operations that were made to fail
};

// Runs the program of `options.seed` under `engine`. Its handles are gone when it returns.
Outcome run_program(const ProgramOptions& options, const EngineOptions& engine);

// The same of programs without failures, all at once, each on a front-end thread of its own. What each has seen.
std::vector<std::vector<std::string>> run_together(const std::vector<ProgramOptions>& programs,
                                                   const EngineOptions& engine);

// Makes workers late now and then, by some microseconds, while it lives.
class RandomDelays {
 public:
  explicit RandomDelays(std::uint64_t seed);
  RandomDelays(const RandomDelays&) = delete;
  RandomDelays& operator=(const RandomDelays&) = delete;
  ~RandomDelays();
};

}  // namespace asyncgrad::tests
