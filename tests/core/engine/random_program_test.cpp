// Every way of running a program gives the bits of running it operation by operation, within its memory.
#include "tests/core/engine/random_program.h"

#include <gtest/gtest.h>

#include "tests/core/engine/expect_outcome.h"
#include "tests/core/engine/ways.h"
#include "tests/support/sanitizer.h"

namespace asyncgrad::tests {
namespace {

constexpr int programs = looks_for_races ? 6 : is_sanitized ? 12 : 60;

class RandomPrograms : public testing::TestWithParam<int> {
 protected:
  void TearDown() override { set_engine_options({}); }

  // Runs the program every way with `workers`, and compares with `expected`.
  static void compare_all_ways(ProgramOptions program, const Outcome& expected, int workers) {
    for (const Way& way : ways) {
      for (const bool inline_tiny : {true, false}) {
        for (const std::int64_t capacity : {std::int64_t{16384}, std::int64_t{5}}) {
          SCOPED_TRACE(testing::Message() << way.name << ", inline " << inline_tiny << ", queue of " << capacity
                                          << ", seed " << program.seed);
          program.has_onlooker = !program.has_onlooker;
          const Outcome outcome = run_program(program, {.workers = workers,
                                                        .schedule = way.schedule,
                                                        .memory_budget = way.budget,
                                                        .queue_capacity = capacity,
                                                        .inline_tiny = inline_tiny});
          expect_same(outcome, expected);
        }
      }
    }
  }
};

TEST_P(RandomPrograms, GiveTheSameBitsWithinTheirMemory) {
  for (int seed = 0; seed < programs; ++seed) {
    const ProgramOptions program{.seed = static_cast<std::uint64_t>(seed)};
    const Outcome expected = run_program(program, {.schedule = Schedule::immediate, .inline_tiny = false});
    EXPECT_EQ(expected.memory[0].peak_live, expected.memory[0].serial_peak);
    const RandomDelays delays(program.seed);
    compare_all_ways(program, expected, GetParam());
    if (HasFailure()) return;
  }
}

TEST_P(RandomPrograms, FailTheSameWay) {
  for (int seed = 1000; seed < 1000 + programs / 2; ++seed) {
    const ProgramOptions program{.seed = static_cast<std::uint64_t>(seed), .with_failures = true};
    // Not immediate: that throws at the call, and the program would be another one.
    const Outcome expected = run_program(program, {.workers = 1, .inline_tiny = false});
    const RandomDelays delays(program.seed);
    compare_all_ways(program, expected, GetParam());
    if (HasFailure()) return;
  }
}

TEST_P(RandomPrograms, GiveTheSameBitsSideBySide) {
  for (std::uint64_t seed = 2000; seed < 2000 + programs / 6; ++seed) {
    const std::vector<ProgramOptions> side_by_side{{.seed = 3 * seed}, {.seed = 3 * seed + 1}, {.seed = 3 * seed + 2}};
    expect_same_side_by_side(side_by_side, {.workers = GetParam(), .queue_capacity = seed % 2 == 0 ? 16384 : 7});
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, RandomPrograms, testing::Values(1, 2, 5));

}  // namespace
}  // namespace asyncgrad::tests
