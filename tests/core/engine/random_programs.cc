// Runs the random programs of random_program_test.cpp for as long as one likes:
//
//   random_programs [--minutes M] [--seed S] [--steps N]
//
// Every program, of N steps of an operation or about N / 8 of training, is run operation by operation, then in ways
// drawn at random: schedule, budget, workers, queue, delays, waits between steps and by another thread, with operations
// that fail or with several front-end threads at once; on the CPU, on two parts of it, or on asynchronous devices made of threads. Now
// and then tiny operations by the hundred thousand go round a small ring instead. Prints totals; the status is 0 if
// every way gave the same values and errors, within its memory.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "asyncgrad/autograd/budget/plan.h"
#include "tests/core/engine/fake_device.h"
#include "tests/core/engine/random_program.h"

namespace asyncgrad::tests {
namespace {

struct Totals {
  std::int64_t programs = 0, runs = 0, faults = 0, differences = 0;
};

class Tour {
 public:
  Tour(std::uint64_t seed, int steps) : random_(seed), steps_(steps) {}

  void one_program() {
    switch (random_() % 4) {
      case 0:
        return on_the_cpu({Device()});
      case 1:
        return on_the_cpu({"cpu:0", "cpu:1"});
      case 2:
        return on_asynchronous_devices();
      default:
        return around_the_ring();
    }
  }
  const Totals& totals() const { return totals_; }

 private:
  static constexpr int ways = 4;

  // The CPU has one part for each device.
  void on_the_cpu(const std::vector<Device>& devices) {
    cpu_parts_ = static_cast<int>(devices.size());
    ProgramOptions program = draw_program(devices);
    program.trains = random_() % 2 == 0;
    if (program.trains) program.steps = 1 + steps_ / 8;  // they are larger
    switch (random_() % 3) {
      case 0:
        return compare(program, operation_by_operation());
      case 1:
        program.with_failures = true;
        return compare(program, {.workers = 1, .inline_tiny = false, .cpu_parts = cpu_parts_},
                       /*fail_one_in=*/random_() % 2 == 0 ? 0 : 200);
      default:
        return compare_side_by_side(program);
    }
  }

  void on_asynchronous_devices() {
    const std::vector<Device> devices[] = {{"cpu", "cuda:0"}, {"cuda:0", "cuda:1"}, {"cuda:0", "cuda:0"}};
    const FakeDevices fakes({.seed = random_()});
    cpu_parts_ = 1;
    const ProgramOptions program = draw_program(devices[random_() % std::size(devices)]);
    switch (random_() % 3) {
      case 0:
        return compare(program, operation_by_operation());
      case 1:  // as they are issued: such devices do not check values
        return compare(program, {.workers = 1, .queue_capacity = 1, .inline_tiny = false}, /*fail_one_in=*/40);
      default:
        return compare_side_by_side(program);
    }
  }

  // A thread that loses its core for a moment finds the ring further on by whole rounds.
  void around_the_ring() {
    set_engine_options({.workers = 1 + static_cast<int>(random_() % 5),
                        .queue_capacity = 64 + static_cast<std::int64_t>(random_() % 64),
                        .inline_tiny = false});
    const auto shape = static_cast<std::size_t>(random_() % 3);
    constexpr int steps = 100'000;
    Tensor x = zeros({2});
    for (int i = 0; i < steps; ++i) {
      if (shape == 0) {
        x = x + 1;
      } else if (shape == 1) {
        const Tensor alone = x + 1;
      } else {
        const Tensor left = x + 1, right = x - 1;
        x = left - right;
      }
    }
    const std::array<float, 3> expected{steps, 0, 2};
    const std::array<const char*, 3> shapes{"a chain", "operations that read one tensor", "diamonds"};
    ++totals_.programs;
    ++totals_.runs;
    report(x.to_vector<float>() == std::vector<float>(2, expected[shape]), shapes[shape]);
  }

  ProgramOptions draw_program(const std::vector<Device>& devices) {
    return {.seed = random_(), .steps = steps_, .devices = devices};
  }
  EngineOptions operation_by_operation() const {
    return {.schedule = Schedule::immediate, .inline_tiny = false, .cpu_parts = cpu_parts_};
  }
  // `may_recompute`: nothing depends on the number of operations.
  EngineOptions draw_options(bool may_recompute) {
    EngineOptions options{
        .workers = 1 + static_cast<int>(random_() % 5), .inline_tiny = random_() % 2 == 0, .cpu_parts = cpu_parts_};
    options.schedule = random_() % 4 == 0 ? Schedule::first_ready : Schedule::oldest_first;
    const MemoryBudget budgets[] = {MemoryBudget::automatic(), MemoryBudget::unbounded(), MemoryBudget::bytes(0),
                                    MemoryBudget::bytes(static_cast<std::int64_t>(random_() % 8'000'000))};
    options.memory_budget = budgets[random_() % 4];
    const std::int64_t capacities[] = {1, 5, 100, 16384};
    options.queue_capacity = capacities[random_() % 4];
    const bool is_bounded = options.schedule == Schedule::oldest_first && !options.memory_budget.is_automatic() &&
                            !options.memory_budget.is_unbounded();
    options.recompute_to_fit = may_recompute && is_bounded && random_() % 2 == 0;
    detail::Plan::get().drop_all(random_() % 2 == 0);
    return options;
  }

  // One in `fail_one_in` operations fails; 0: none.
  void compare(ProgramOptions program, const EngineOptions& plain, std::uint64_t fail_one_in = 0) {
    const RandomDelays delays(random_(), fail_one_in);
    const Outcome expected = run_program(program, plain);
    ++totals_.programs;
    for (int i = 0; i < ways; ++i) {
      EngineOptions options = draw_options(/*may_recompute=*/fail_one_in == 0 && !program.with_failures);
      program.wait_one_in = static_cast<int>(random_() % 4);
      program.max_in_flight = static_cast<int>(random_() % 3);
      program.has_onlooker = random_() % 2 == 0;
      if (fail_one_in != 0) options.inline_tiny = false;  // at its call an operation has no number
      const Outcome outcome = run_program(program, options);
      ++totals_.runs;
      totals_.faults += outcome.faults;
      const bool fits = std::ranges::all_of(
          outcome.memory, [](const Outcome::Memory& memory) { return memory.fits() && memory.left_live == 0; });
      const bool has_peaks = options.recompute_to_fit || outcome.has_serial_peaks_of(expected);
      report(outcome.seen == expected.seen && has_peaks && fits, program.seed);
    }
  }

  void compare_side_by_side(const ProgramOptions& first) {
    std::vector<ProgramOptions> programs(3, first);
    std::vector<std::vector<std::string>> expected;
    for (std::size_t i = 0; i < programs.size(); ++i) {
      programs[i].seed += i;
      expected.push_back(run_program(programs[i], operation_by_operation()).seen);
    }
    totals_.programs += static_cast<std::int64_t>(programs.size());
    for (int i = 0; i < ways; ++i) {
      const RandomDelays delays(random_());
      ++totals_.runs;
      report(run_together(programs, draw_options(/*may_recompute=*/true)) == expected, first.seed);
    }
  }

  void report(bool is_same, std::uint64_t seed) { report(is_same, fmt::format("the program of seed {}", seed)); }
  void report(bool is_same, const std::string& what) {
    if (is_same) return;
    ++totals_.differences;
    fmt::print(stderr, "a difference in {}\n", what);
  }

  std::mt19937_64 random_;
  const int steps_;
  int cpu_parts_ = 1;  // of the program under way
  Totals totals_;
};

}  // namespace
}  // namespace asyncgrad::tests

int main(int count, char** arguments) {
  double minutes = 1;
  std::uint64_t seed = 1;
  int steps = 60;
  for (int i = 1; i + 1 < count; i += 2) {
    if (std::string_view(arguments[i]) == "--minutes") minutes = std::strtod(arguments[i + 1], nullptr);
    if (std::string_view(arguments[i]) == "--seed") seed = std::strtoull(arguments[i + 1], nullptr, 10);
    if (std::string_view(arguments[i]) == "--steps")
      steps = static_cast<int>(std::strtol(arguments[i + 1], nullptr, 10));
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(60 * minutes);
  asyncgrad::tests::Tour tour(seed, steps);
  while (std::chrono::steady_clock::now() < end) tour.one_program();
  const asyncgrad::tests::Totals& totals = tour.totals();
  fmt::print("{} programs, {} runs of them, {} operations, {} faults injected, {} differences\n", totals.programs,
             totals.runs, asyncgrad::engine_figures().operations, totals.faults, totals.differences);
  return totals.differences == 0 ? 0 : 1;
}
