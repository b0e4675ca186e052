// The random programs of random_program_test.cpp for as long as one likes:
//
//   random_programs [--minutes M] [--seed S]
//
// Every program is run operation by operation, then in ways drawn at random: schedule, budget, workers, queue, delays,
// with operations that fail or with several front-end threads at once. Prints totals; the status is 0 if every way gave
// the same values and errors, within its memory.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <string_view>

#include "asyncgrad/tests/core/engine/random_program.h"

namespace asyncgrad::tests {
namespace {

struct Totals {
  std::int64_t programs = 0, runs = 0, faults = 0, differences = 0;
};

class Tour {
 public:
  explicit Tour(std::uint64_t seed) : random_(seed) {}

  void one_program() {
    const std::uint64_t seed = random_();
    switch (random_() % 3) {
      case 0:
        return compare(ProgramOptions{.seed = seed}, {.schedule = Schedule::immediate, .inline_tiny = false});
      case 1:
        return compare(ProgramOptions{.seed = seed, .with_failures = true}, {.workers = 1, .inline_tiny = false});
      default:
        return compare_side_by_side(seed);
    }
  }
  const Totals& totals() const { return totals_; }

 private:
  static constexpr int ways = 4;

  EngineOptions draw_options() {
    EngineOptions options{.workers = 1 + static_cast<int>(random_() % 5), .inline_tiny = random_() % 2 == 0};
    options.schedule = random_() % 4 == 0 ? Schedule::first_ready : Schedule::oldest_first;
    const MemoryBudget budgets[] = {MemoryBudget::automatic(), MemoryBudget::unbounded(), MemoryBudget::bytes(0),
                                    MemoryBudget::bytes(static_cast<std::int64_t>(random_() % 8'000'000))};
    options.memory_budget = budgets[random_() % 4];
    const std::int64_t capacities[] = {1, 5, 100, 16384};
    options.queue_capacity = capacities[random_() % 4];
    return options;
  }

  void compare(const ProgramOptions& program, const EngineOptions& plain) {
    const Outcome expected = run_program(program, plain);
    ++totals_.programs;
    for (int i = 0; i < ways; ++i) {
      const RandomDelays delays(random_());
      const Outcome outcome = run_program(program, draw_options());
      ++totals_.runs;
      totals_.faults += outcome.faults;
      const bool fits = std::ranges::all_of(
          outcome.memory, [](const Outcome::Memory& memory) { return memory.fits() && memory.left_live == 0; });
      report(outcome.seen == expected.seen && outcome.has_serial_peaks_of(expected) && fits, program.seed);
    }
  }

  void compare_side_by_side(std::uint64_t seed) {
    const std::vector<ProgramOptions> programs{{.seed = seed}, {.seed = seed + 1}, {.seed = seed + 2}};
    std::vector<std::vector<std::string>> expected;
    for (const ProgramOptions& program : programs) {
      expected.push_back(run_program(program, {.schedule = Schedule::immediate, .inline_tiny = false}).seen);
    }
    totals_.programs += static_cast<std::int64_t>(programs.size());
    for (int i = 0; i < ways; ++i) {
      const RandomDelays delays(random_());
      ++totals_.runs;
      report(run_together(programs, draw_options()) == expected, seed);
    }
  }

  void report(bool is_same, std::uint64_t seed) {
    if (is_same) return;
    ++totals_.differences;
    fmt::print(stderr, "a difference in the program of seed {}\n", seed);
  }

  std::mt19937_64 random_;
  Totals totals_;
};

}  // namespace
}  // namespace asyncgrad::tests

int main(int count, char** arguments) {
  double minutes = 1;
  std::uint64_t seed = 1;
  for (int i = 1; i + 1 < count; i += 2) {
    if (std::string_view(arguments[i]) == "--minutes") minutes = std::strtod(arguments[i + 1], nullptr);
    if (std::string_view(arguments[i]) == "--seed") seed = std::strtoull(arguments[i + 1], nullptr, 10);
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(60 * minutes);
  asyncgrad::tests::Tour tour(seed);
  while (std::chrono::steady_clock::now() < end) tour.one_program();
  const asyncgrad::tests::Totals& totals = tour.totals();
  fmt::print("{} programs, {} runs of them, {} operations, {} faults injected, {} differences\n", totals.programs,
             totals.runs, asyncgrad::engine_figures().operations, totals.faults, totals.differences);
  return totals.differences == 0 ? 0 : 1;
}
