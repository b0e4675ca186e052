// Every way of running a training gives the bits of running it operation by operation, within its memory, and fails for
// the same causes.
#include <gtest/gtest.h>

#include <atomic>

#include "asyncgrad/autograd/budget/plan.h"
#include "asyncgrad/core/engine/engine.h"
#include "tests/core/engine/expect_outcome.h"
#include "tests/core/engine/random_program.h"
#include "tests/core/engine/ways.h"
#include "tests/support/sanitizer.h"
#include "tests/support/temporary_folder.h"

namespace asyncgrad::tests {
namespace {

constexpr int trainings = is_sanitized ? 4 : 8;

class RandomTraining : public testing::TestWithParam<int> {
 protected:
  void TearDown() override { set_engine_options({}); }

  static ProgramOptions training(std::uint64_t seed, bool with_failures = false) {
    return {.seed = seed, .steps = 8, .with_failures = with_failures, .trains = true};
  }

  // Runs it every way, some with waits in between. Operations that are made to fail are chosen by their numbers, which
  // they lack if they run at the call; `may_inline` is false then.
  static void compare_all_ways(ProgramOptions program, const Outcome& expected, bool may_inline = true) {
    int number = static_cast<int>(program.seed);
    for (const Way& way : ways) {
      const bool inline_tiny = may_inline && number % 2 == 0;
      const std::int64_t capacity = number % 3 == 0 ? 5 : 16384;
      program.wait_one_in = number % 4 == 0 ? 2 : 0;
      program.max_in_flight = number % 3;
      program.has_onlooker = number % 5 < 2;
      ++number;
      SCOPED_TRACE(testing::Message() << way.name << ", inline " << inline_tiny << ", queue of " << capacity
                                      << ", waits after one step in " << program.wait_one_in << ", in flight "
                                      << program.max_in_flight << ", seed " << program.seed);
      expect_same(run_program(program, {.workers = GetParam(),
                                        .schedule = way.schedule,
                                        .memory_budget = way.budget,
                                        .queue_capacity = capacity,
                                        .inline_tiny = inline_tiny}),
                  expected);
    }
  }
};

TEST_P(RandomTraining, GivesTheSameBitsWithinItsMemory) {
  for (std::uint64_t seed = 0; seed < trainings; ++seed) {
    const ProgramOptions program = training(seed);
    const Outcome expected = run_program(program, {.schedule = Schedule::immediate, .inline_tiny = false});
    EXPECT_EQ(expected.memory[0].peak_live, expected.memory[0].serial_peak);
    const RandomDelays delays(seed);
    compare_all_ways(program, expected);
    if (HasFailure()) return;
  }
}

// Values are dropped and computed again, within budgets down to a third of the serial peak, and wherever it is possible.
TEST_P(RandomTraining, ComputesValuesAgainWithTheSameBits) {
  std::int64_t recomputed = 0;
  for (std::uint64_t seed = 7000; seed < 7000 + trainings; ++seed) {
    ProgramOptions program = training(seed);
    const Outcome expected = run_program(program, {.schedule = Schedule::immediate, .inline_tiny = false});
    const RandomDelays delays(seed);
    for (const int percent : {0, 30, 50, 70, 100}) {
      SCOPED_TRACE(testing::Message() << percent << " % of the serial peak, seed " << seed);
      const std::int64_t budget = percent * expected.memory[0].serial_peak / 100;
      program.wait_one_in = percent == 50 ? 2 : 0;
      program.has_onlooker = percent == 70;
      detail::Plan::get().drop_all(percent == 0);
      const Outcome outcome = run_program(program, {.workers = GetParam(),
                                                    .memory_budget = MemoryBudget::bytes(budget),
                                                    .inline_tiny = percent == 70,
                                                    .recompute_to_fit = true});
      detail::Plan::get().drop_all(false);
      recomputed += engine_figures().recomputed_operations;
      EXPECT_EQ(outcome.seen, expected.seen);
      EXPECT_TRUE(outcome.memory[0].fits());
      EXPECT_EQ(outcome.memory[0].left_live, 0);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(recomputed, 0);
}

// Kernels of the library and of the program find something wrong while they run.
TEST_P(RandomTraining, FailsTheSameWay) {
  int faults = 0;
  for (std::uint64_t seed = 1000; seed < 1000 + trainings / 2; ++seed) {
    const ProgramOptions program = training(seed, /*with_failures=*/true);
    const Outcome expected = run_program(program, {.workers = 1, .inline_tiny = false});
    faults += expected.faults;
    const RandomDelays delays(seed);
    compare_all_ways(program, expected);
    if (HasFailure()) return;
  }
  EXPECT_GT(faults, 0);
}

// Any operation may fail, whether it belongs to the network, its gradient or the update.
TEST_P(RandomTraining, FailsTheSameWayWhereverItIsMadeTo) {
  int faults = 0;
  for (std::uint64_t seed = 2000; seed < 2000 + trainings / 2; ++seed) {
    const ProgramOptions program = training(seed, /*with_failures=*/true);
    const RandomDelays delays(seed, /*fail_one_in=*/300);
    const Outcome expected = run_program(program, {.workers = 1, .inline_tiny = false});
    faults += expected.faults;
    compare_all_ways(program, expected, /*may_inline=*/false);
    if (HasFailure()) return;
  }
  EXPECT_GT(faults, 0);
}

TEST_P(RandomTraining, GivesTheSameBitsSideBySide) {
  for (std::uint64_t seed = 3000; seed < 3000 + trainings / 4; ++seed) {
    expect_same_side_by_side({training(3 * seed), {.seed = 3 * seed + 1}, training(3 * seed + 2)},
                             {.workers = GetParam()});
  }
}

TEST_P(RandomTraining, OnPartsOfTheCpuGivesTheSameBits) {
  for (std::uint64_t seed = 4000; seed < 4000 + trainings / 4; ++seed) {
    ProgramOptions program = training(seed);
    program.devices = {"cpu:0", "cpu:1"};
    const Outcome expected = run_program(program, {.schedule = Schedule::immediate, .cpu_parts = 2});
    const RandomDelays delays(seed);
    for (const Way& way : ways) {
      SCOPED_TRACE(testing::Message() << way.name << ", seed " << seed);
      expect_same(
          run_program(
              program,
              {.workers = 1 + GetParam(), .schedule = way.schedule, .memory_budget = way.budget, .cpu_parts = 2}),
          expected);
    }
  }
}

// Training is saved in a file while it goes on. Training that goes on from the file does as if it had never stopped.
TEST_P(RandomTraining, GoesOnFromAFile) {
  const TemporaryFolder folder;
  for (std::uint64_t seed = 6000; seed < 6000 + trainings / 4; ++seed) {
    ProgramOptions program = training(seed);
    program.interruption = {.file = folder.file("training"), .step = static_cast<int>(2 + seed % 5)};
    const Outcome expected = run_program(program, {.schedule = Schedule::immediate, .inline_tiny = false});
    const RandomDelays delays(seed);
    for (const Way& way : ways) {
      SCOPED_TRACE(testing::Message() << way.name << ", seed " << seed);
      const EngineOptions engine{.workers = GetParam(), .schedule = way.schedule, .memory_budget = way.budget};
      program.interruption.is_resumed = false;
      expect_same(run_program(program, engine), expected);
      program.interruption.is_resumed = true;
      EXPECT_EQ(run_program(program, engine).seen, expected.seen);
    }
    if (HasFailure()) return;
  }
}

// The system has no memory now and then. The schedule decides which requests it refuses, and what is computed all the
// same must be right.
TEST_P(RandomTraining, SurvivesRefusedMemory) {
  static std::atomic<std::uint64_t> requests{0};
  int refused = 0;
  for (std::uint64_t seed = 5000; seed < 5000 + trainings / 2; ++seed) {
    const ProgramOptions program = training(seed);
    const Outcome expected = run_program(program, {.workers = 1, .inline_tiny = false});
    for (const Way& way : ways) {
      SCOPED_TRACE(testing::Message() << way.name << ", seed " << seed);
      const EngineOptions engine{.workers = GetParam(), .schedule = way.schedule, .memory_budget = way.budget};
      set_engine_options(engine);
      requests = 0;
      detail::device_state(Device()).allocator.set_fault([](std::int64_t) { return requests++ % 200 >= 180; });
      const Outcome outcome = run_program(program, engine);
      detail::device_state(Device()).allocator.set_fault(nullptr);
      ASSERT_EQ(outcome.seen.size(), expected.seen.size());
      for (std::size_t i = 0; i < expected.seen.size(); ++i) {
        if (outcome.seen[i].find("out of memory") != std::string::npos) {
          ++refused;
        } else {
          EXPECT_EQ(outcome.seen[i], expected.seen[i]) << i;
        }
      }
      EXPECT_EQ(outcome.memory[0].left_live, 0);
      expect_same(run_program(program, engine), expected);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(refused, 0);
}

INSTANTIATE_TEST_SUITE_P(Workers, RandomTraining, testing::Values(1, 2, 4));

}  // namespace
}  // namespace asyncgrad::tests
