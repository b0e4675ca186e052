// Programs drawn at random, which tests run in every way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "asyncgrad/asyncgrad.h"

namespace asyncgrad::tests {

// Training is saved in a file before a step, and goes on; or it goes on from that file, and what was seen before the
// step is left out.
struct Interruption {
  std::string file{};  // empty: there is none
  int step = 0;
  bool is_resumed = false;
};

struct ProgramOptions {
  std::uint64_t seed = 0;
  int steps = 60;
  std::int64_t largest = 40'000;  // elements of a tensor at most
  bool with_failures = false;     // some operations fail while they run
  bool trains = false;            // each step is one of training: see random_training.h
  Interruption interruption{};
  // The waits of the program between its steps. They change neither the program that is drawn nor its results.
  int wait_one_in = 0;        // after one in so many steps for all that is queued; 0: never
  int max_in_flight = 0;      // for the step that is so many steps back; 0: never
  bool has_onlooker = false;  // another thread waits for operations of the program meanwhile
  // The devices that its tensors are on and are copied between. A program may have the same device twice, and draws the
  // same steps as one with two devices.
  std::vector<Device> devices{Device()};
};

// The results of a program.
struct Findings {
  std::vector<std::string> seen;  // what its waits saw, in order: values as text of their bits, or the error's message
  int faults = 0;                 // operations that were made to fail
  std::int64_t replays = 0;       // of its launch graph, at least
  // For each device the largest budget that recover() has put an end to, or nothing.
  std::vector<std::int64_t> earlier_limits;
};

// The bits of a float32 tensor as text, or the message of the Error that the wait for it throws.
std::string text_of(const Tensor& tensor);

// Waits as the options say. It draws by a generator of its own, so that the program's draws stay the same.
class StepWaits {
 public:
  explicit StepWaits(const ProgramOptions& options)
      : one_in_(options.wait_one_in), in_flight_(options.max_in_flight), random_(options.seed) {}
  void after_step();

 private:
  int one_in_, in_flight_;
  std::mt19937_64 random_;
  std::deque<Mark> marks_;
};

// The figures after a program.
struct Outcome : Findings {
  struct Memory {
    std::int64_t peak_live = 0, serial_peak = 0, limit = 0;  // bytes; limit: -1 is unbounded
    std::int64_t under_way = 0;  // bytes at most of copies and sources that had begun, for which nobody waited
    std::int64_t left_live = 0;  // after everything was dropped and finished

    bool fits() const { return limit < 0 || peak_live <= std::max(limit, serial_peak) + under_way; }
  };
  std::vector<Memory> memory;  // of each of the program's devices

  bool has_serial_peaks_of(const Outcome& other) const {
    return std::ranges::equal(memory, other.memory, {}, &Memory::serial_peak, &Memory::serial_peak);
  }
};

// Runs the program of `options.seed` under `engine`. Its handles are gone when it returns.
Outcome run_program(const ProgramOptions& options, const EngineOptions& engine);

// Runs programs without failures at once, each on a front-end thread of its own. Returns what each of them has seen.
std::vector<std::vector<std::string>> run_together(const std::vector<ProgramOptions>& programs,
                                                   const EngineOptions& engine);

// While it lives, it delays workers now and then by some microseconds, and makes one in `fail_one_in` operations fail,
// by their numbers since the last run_program() began; 0: none.
class RandomDelays {
 public:
  explicit RandomDelays(std::uint64_t seed, std::uint64_t fail_one_in = 0);
  RandomDelays(const RandomDelays&) = delete;
  RandomDelays& operator=(const RandomDelays&) = delete;
  ~RandomDelays();
};

}  // namespace asyncgrad::tests
