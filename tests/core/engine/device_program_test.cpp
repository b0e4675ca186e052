// Programs drawn at random on two devices, with copies between them, give the bits of running them operation by
// operation, and each device keeps within its memory.
#include <gtest/gtest.h>

#include "tests/core/engine/expect_outcome.h"
#include "tests/core/engine/fake_device.h"
#include "tests/core/engine/random_program.h"
#include "tests/support/sanitizer.h"

namespace asyncgrad::tests {
namespace {

constexpr int device_programs = looks_for_races ? 4 : is_sanitized ? 8 : 40;

constexpr MemoryBudget budgets[] = {MemoryBudget::automatic(), MemoryBudget::bytes(0), MemoryBudget::unbounded()};

class DevicePrograms : public testing::Test {
 protected:
  void TearDown() override { set_engine_options({}); }

  // Runs the program under every schedule and budget, and compares with `expected`. The queue is long for one half of
  // the programs and short for the other.
  static void compare_all_ways(const ProgramOptions& program, const Outcome& expected, EngineOptions options) {
    std::uint64_t number = program.seed;
    for (const Schedule schedule : {Schedule::oldest_first, Schedule::first_ready}) {
      for (const MemoryBudget budget : budgets) {
        options.schedule = schedule;
        options.memory_budget = budget;
        options.queue_capacity = number++ % 2 == 0 ? 16384 : 5;
        SCOPED_TRACE(testing::Message() << "schedule " << static_cast<int>(schedule) << ", budget "
                                        << budget.is_automatic() << budget.is_unbounded() << ", queue of "
                                        << options.queue_capacity << ", workers " << options.workers << ", inline "
                                        << options.inline_tiny << ", seed " << program.seed);
        expect_same(run_program(program, options), expected);
      }
    }
  }
};

TEST_F(DevicePrograms, OnPartsOfTheCpuGiveTheBitsOfOne) {
  for (std::uint64_t seed = 0; seed < device_programs; ++seed) {
    const ProgramOptions on_one{.seed = seed, .devices = {"cpu", "cpu"}};
    const Outcome bits = run_program(on_one, {.schedule = Schedule::immediate});
    const ProgramOptions program{.seed = seed, .devices = {"cpu:0", "cpu:1"}};
    const Outcome expected = run_program(program, {.schedule = Schedule::immediate, .cpu_parts = 2});
    EXPECT_EQ(expected.seen, bits.seen);
    const RandomDelays delays(seed);
    for (const int workers : {2, 5}) {
      const bool inline_tiny = (seed / 2 + static_cast<std::uint64_t>(workers)) % 2 == 0;  // each with both queues
      compare_all_ways(program, expected, {.workers = workers, .inline_tiny = inline_tiny, .cpu_parts = 2});
    }
    if (HasFailure()) return;
  }
}

TEST_F(DevicePrograms, OnPartsOfTheCpuFailTheSameWay) {
  for (std::uint64_t seed = 500; seed < 500 + device_programs; ++seed) {
    const ProgramOptions program{.seed = seed, .with_failures = true, .devices = {"cpu:0", "cpu:1"}};
    const Outcome expected = run_program(program, {.workers = 1, .inline_tiny = false, .cpu_parts = 2});
    const RandomDelays delays(seed);
    compare_all_ways(program, expected, {.workers = 4, .cpu_parts = 2});
    if (HasFailure()) return;
  }
}

class AsynchronousPrograms : public DevicePrograms, public testing::WithParamInterface<std::vector<Device>> {};

TEST_P(AsynchronousPrograms, GiveTheBitsOfTheCpu) {
  for (std::uint64_t seed = 0; seed < device_programs; ++seed) {
    const ProgramOptions on_one{.seed = seed, .devices = {"cpu", "cpu"}};
    const Outcome bits = run_program(on_one, {.schedule = Schedule::immediate});
    const FakeDevices devices({.seed = seed});
    const ProgramOptions program{.seed = seed, .devices = GetParam()};
    const Outcome expected = run_program(program, {.schedule = Schedule::immediate});
    EXPECT_EQ(expected.seen, bits.seen);
    const RandomDelays delays(seed);
    compare_all_ways(program, expected, {.workers = 2});
    if (HasFailure()) return;
  }
}

// Some operations fail when they are issued.
TEST_P(AsynchronousPrograms, FailTheSameWay) {
  for (std::uint64_t seed = 700; seed < 700 + device_programs; ++seed) {
    const FakeDevices devices({.seed = seed});
    const RandomDelays delays(seed, /*fail_one_in=*/40);
    const ProgramOptions program{.seed = seed, .devices = GetParam()};
    const Outcome expected = run_program(program, {.workers = 1, .queue_capacity = 1, .inline_tiny = false});
    compare_all_ways(program, expected, {.workers = 2, .inline_tiny = false});
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(On, AsynchronousPrograms,
                         testing::Values(std::vector<Device>{"cpu", "cuda:0"}, std::vector<Device>{"cuda:0", "cuda:1"},
                                         std::vector<Device>{"cuda:0", "cuda:0"}));

}  // namespace
}  // namespace asyncgrad::tests
