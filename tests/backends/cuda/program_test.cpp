// Programs drawn at random give the same bits on emulated GPUs however they run, and each device keeps within its memory.
#include <gtest/gtest.h>

#include "tests/backends/cuda/fake_gpus.h"
#include "tests/core/engine/expect_outcome.h"
#include "tests/core/engine/random_program.h"
#include "tests/support/sanitizer.h"

namespace asyncgrad::tests {
namespace {

constexpr int cuda_programs = looks_for_races ? 2 : is_sanitized ? 4 : 20;

class CudaPrograms : public testing::TestWithParam<std::vector<Device>> {
 protected:
  void TearDown() override { set_engine_options({}); }
};

TEST_P(CudaPrograms, GiveTheBitsOfRunningAtTheCall) {
  std::int64_t replays = 0;
  for (std::uint64_t seed = 0; seed < cuda_programs; ++seed) {
    FakeGpus gpus({.reach_each_other = seed % 2 == 0, .seed = seed});
    const ProgramOptions program{.seed = seed, .devices = GetParam()};
    const Outcome expected = run_program(program, {.schedule = Schedule::immediate});
    const RandomDelays delays(seed);
    for (const Schedule schedule : {Schedule::oldest_first, Schedule::first_ready}) {
      for (const MemoryBudget budget : {MemoryBudget::automatic(), MemoryBudget::bytes(0), MemoryBudget::unbounded()}) {
        SCOPED_TRACE(testing::Message() << "schedule " << static_cast<int>(schedule) << ", budget "
                                        << budget.is_automatic() << budget.is_unbounded() << ", seed " << seed);
        const Outcome outcome = run_program(program, {.workers = 2, .schedule = schedule, .memory_budget = budget});
        expect_same(outcome, expected);
        replays += outcome.replays;
      }
    }
    gpus.end();
    EXPECT_EQ(gpus.api().objects(), 0U);
    if (HasFailure()) return;
  }
  EXPECT_GT(replays, 0);
}

INSTANTIATE_TEST_SUITE_P(On, CudaPrograms,
                         testing::Values(std::vector<Device>{"cpu", "cuda:0"}, std::vector<Device>{"cuda:0", "cuda:1"},
                                         std::vector<Device>{"cuda:0", "cuda:0"}));

}  // namespace
}  // namespace asyncgrad::tests
