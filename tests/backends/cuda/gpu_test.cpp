// Tests on a real GPU, where there is one.
#include <gtest/gtest.h>

#include <numeric>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/backends/cuda/api.h"
#include "tests/backends/cuda/first_gpu.h"
#include "tests/core/engine/expect_outcome.h"
#include "tests/core/engine/random_program.h"
#include "tests/support/message_of.h"

namespace asyncgrad::tests {
namespace {

detail::cuda::Api& api() { return detail::cuda::cuda_api(); }

class OnGpu : public OnFirstGpu {
 protected:
  static std::int64_t free_bytes() {
    std::size_t free = 0, total = 0;
    EXPECT_EQ(api().set_device(0), cudaSuccess);
    EXPECT_EQ(api().get_memory_info(&free, &total), cudaSuccess);
    return static_cast<std::int64_t>(free);
  }
};

TEST_F(OnGpu, CopiesOfAnySizeHaveTheirBits) {
  for (const std::int64_t count : {0, 1, 17, 1 << 20, (1 << 20) + 1, 5'000'001}) {
    std::vector<float> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), 1.0F);
    const Tensor there = Tensor::from(values, {count}, "cuda:0");
    EXPECT_EQ(there.clone().to_vector<float>(), values);
  }
}

TEST_F(OnGpu, FillsAreThereForCopies) {
  for (int i = 0; i < 100; ++i) {
    const Tensor x = full({100'000}, i, {.device = "cuda:0"});
    EXPECT_EQ(x.to_vector<float>(), std::vector<float>(100'000, static_cast<float>(i)));
  }
}

TEST_F(OnGpu, ThereAreAsManyAsTheDriverCounts) {
  int count = 0;
  ASSERT_EQ(api().get_device_count(&count), cudaSuccess);
  for (int i = 1; i < count; ++i) {
    const Tensor x = full({100'000}, i, {.device = {DeviceType::cuda, i}});
    EXPECT_EQ(x.to("cuda:0").to_vector<float>(), std::vector<float>(100'000, static_cast<float>(i)));
  }
  if (count < 16) {
    EXPECT_TRUE(message_of([&] {
                  zeros({}, {.device = {DeviceType::cuda, count}});
                }).starts_with("[device] there is no"));
  }
}

// The memory that the library counts is what the driver lacks, except for the driver's own records.
TEST_F(OnGpu, MemoryIsTheDriversOwn) {
  const Device gpu = "cuda:0";
  full({10}, 1, {.device = gpu}).wait();
  trim_cache(gpu);
  constexpr std::int64_t size_bytes = std::int64_t{256} << 20;
  const std::int64_t free_before = free_bytes(), live_before = memory_figures(gpu).live_bytes;
  {
    const Tensor x = full({size_bytes / 4}, 1, {.device = gpu});
    x.wait();
    EXPECT_EQ(memory_figures(gpu).live_bytes - live_before, size_bytes);
    EXPECT_NEAR(free_before - free_bytes(), size_bytes, size_bytes / 32);
  }
  wait_all();
  EXPECT_EQ(memory_figures(gpu).live_bytes, live_before);
  trim_cache(gpu);
  EXPECT_NEAR(free_bytes(), free_before, size_bytes / 32);
}

// A copy of 256 MiB in the device's memory takes longer than its launch.
TEST_F(OnGpu, ProfilesHaveItsOwnTimes) {
  const Tensor x = full({std::int64_t{64} << 20}, 1, {.device = "cuda:0"});
  x.wait();
  profiler::start();
  for (int i = 0; i < 10; ++i) x.clone();
  const profiler::Summary summary = profiler::stop();
  ASSERT_EQ(summary.operations.size(), 1U);
  EXPECT_EQ(summary.operations[0].count, 10);
  EXPECT_GT(summary.devices_s, 10 * 20e-6);  // at 25 TB/s
  EXPECT_LE(summary.devices_s, summary.elapsed_s);
}

TEST_F(OnGpu, ProgramsGiveTheBitsOfRunningAtTheCall) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const ProgramOptions program{.seed = seed, .devices = {seed % 2 == 0 ? Device() : Device("cuda:0"), "cuda:0"}};
    const Outcome expected = run_program(program, {.schedule = Schedule::immediate});
    for (const Schedule schedule : {Schedule::oldest_first, Schedule::first_ready}) {
      for (const MemoryBudget budget : {MemoryBudget::automatic(), MemoryBudget::bytes(0), MemoryBudget::unbounded()}) {
        SCOPED_TRACE(testing::Message() << "schedule " << static_cast<int>(schedule) << ", budget "
                                        << budget.is_automatic() << budget.is_unbounded() << ", seed " << seed);
        expect_same(run_program(program, {.workers = 2, .schedule = schedule, .memory_budget = budget}), expected);
      }
    }
    if (HasFailure()) break;
  }
  set_engine_options({});
}

TEST_F(OnGpu, MoreThanThereIsIsAnError) {
  const Device gpu = "cuda:0";
  const Tensor kept = full({1000}, 3, {.device = gpu}), large = full({std::int64_t{1} << 40}, 1, {.device = gpu});
  EXPECT_NE(message_of([&] { large.wait(); }).find("out of memory"), std::string::npos);
  EXPECT_EQ(kept.to_vector<float>(), std::vector<float>(1000, 3));
  recover();
}

}  // namespace
}  // namespace asyncgrad::tests
