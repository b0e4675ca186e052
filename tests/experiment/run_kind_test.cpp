#include "asyncgrad/experiment/run_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/experiment/bad_input.h"

namespace asyncgrad::experiment {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Named {
  const char* name;
  Barrier barrier;
  std::size_t in_flight;
  Schedule schedule;
  MemoryBudget budget;
  std::optional<double> budget_share{};
  bool recompute = false;
};

TEST(RunKind, NamesSayBarrierAndSchedule) {
  const Named cases[] = {
      {"immediate", Barrier::none, 0, Schedule::immediate, MemoryBudget::automatic()},
      {"batch", Barrier::batch, 0, Schedule::oldest_first, MemoryBudget::automatic()},
      {"none", Barrier::none, 0, Schedule::oldest_first, MemoryBudget::automatic()},
      {"in-flight:1", Barrier::in_flight, 1, Schedule::oldest_first, MemoryBudget::automatic()},
      {"in-flight:25", Barrier::in_flight, 25, Schedule::oldest_first, MemoryBudget::automatic()},
      {"none:unbounded", Barrier::none, 0, Schedule::oldest_first, MemoryBudget::unbounded()},
      {"none:first_ready", Barrier::none, 0, Schedule::first_ready, MemoryBudget::unbounded()},
      {"none:64MiB", Barrier::none, 0, Schedule::oldest_first, MemoryBudget::bytes(64 << 20)},
      {"batch:1000000", Barrier::batch, 0, Schedule::oldest_first, MemoryBudget::bytes(1'000'000)},
      {"in-flight:2:first_ready", Barrier::in_flight, 2, Schedule::first_ready, MemoryBudget::unbounded()},
      {"in-flight:2:1GiB", Barrier::in_flight, 2, Schedule::oldest_first, MemoryBudget::bytes(1 << 30)},
      {"none:50%", Barrier::none, 0, Schedule::oldest_first, MemoryBudget::automatic(), 0.5},
      {"none:100%:recompute", Barrier::none, 0, Schedule::oldest_first, MemoryBudget::automatic(), 1.0, true},
      {"batch:12.5%:recompute", Barrier::batch, 0, Schedule::oldest_first, MemoryBudget::automatic(), 0.125, true},
      {"in-flight:2:1MiB:recompute", Barrier::in_flight, 2, Schedule::oldest_first, MemoryBudget::bytes(1 << 20),
       std::nullopt, true},
  };
  for (const Named& expected : cases) {
    const RunKind run = parse_run("--runs", expected.name);
    EXPECT_EQ(run.name, expected.name);
    EXPECT_EQ(run.barrier, expected.barrier) << expected.name;
    EXPECT_EQ(run.in_flight, expected.in_flight) << expected.name;
    EXPECT_EQ(run.schedule, expected.schedule) << expected.name;
    EXPECT_EQ(run.budget, expected.budget) << expected.name;
    EXPECT_EQ(run.budget_share, expected.budget_share) << expected.name;
    EXPECT_EQ(run.recompute, expected.recompute) << expected.name;
  }
}

TEST(RunKind, OtherNamesAreRejectedWithWhatIsAccepted) {
  for (const char* name : {"",
                           "some",
                           "Batch",
                           "batch:",
                           "none:",
                           "none:auto",
                           "none:-1",
                           "none:first_ready:64MiB",
                           "none:64MiB:first_ready",
                           "none:first-ready",
                           "immediate:unbounded",
                           "in-flight",
                           "in_flight:1",
                           "none:oldest_first",
                           " none",
                           "none:recompute",
                           "none:unbounded:recompute",
                           "none:first_ready:recompute",
                           "none:auto:recompute",
                           "none:1MiB:recompute:recompute",
                           "none:recompute:1MiB",
                           "immediate:recompute"}) {
    EXPECT_THAT(
        bad_input([&] { parse_run("--runs", name); }),
        StartsWith(std::string("--runs: '") + name + "' is not a run: immediate, or batch, none or in-flight:K"));
  }
  for (const char* count : {"0", "-1", "", "x", "1.5"}) {
    const std::string name = std::string("in-flight:") + count;
    EXPECT_THAT(bad_input([&] { parse_run("--runs", name); }),
                StartsWith("--runs " + name + ": '" + count + "' is not a whole number from 1 to"));
  }
  for (const char* bytes : {"0", "64MB", "1e6"}) {
    const std::string name = std::string("none:") + bytes;
    EXPECT_THAT(bad_input([&] { parse_run("--runs", name); }),
                StartsWith("--runs " + name + ": '" + bytes + "' is not a number of bytes above 0"));
  }
  for (const char* percent : {"0%", "-1%", "101%", "x%", "%", "nan%", "50 %"}) {
    const std::string name = std::string("none:") + percent + ":recompute";
    EXPECT_THAT(bad_input([&] { parse_run("--runs", name); }),
                StartsWith("--runs " + name + ": '" + percent + "' is not a percentage above 0% and at most 100%"));
  }
}

TEST(RunKind, AUsersOwnRunIsNamedTheSameWay) {
  const auto name = [](auto barrier, auto schedule, auto budget, bool recompute = false) {
    return own_run(barrier, schedule, budget, recompute).name;
  };
  EXPECT_EQ(name("batch", std::nullopt, std::nullopt), "batch");
  EXPECT_EQ(name("in-flight:3", "oldest_first", "auto"), "in-flight:3");
  EXPECT_EQ(name(std::nullopt, "first_ready", std::nullopt), "none:first_ready");
  EXPECT_EQ(name("batch", "first_ready", "unbounded"), "batch:first_ready");
  EXPECT_EQ(name(std::nullopt, std::nullopt, "64MiB"), "none:64MiB");
  EXPECT_EQ(name("in-flight:1", std::nullopt, "unbounded"), "in-flight:1:unbounded");
  EXPECT_EQ(name(std::nullopt, std::nullopt, "50%"), "none:50%");
  EXPECT_EQ(name("batch", std::nullopt, "50%", true), "batch:50%:recompute");
  EXPECT_EQ(name(std::nullopt, "oldest_first", "1MiB", true), "none:1MiB:recompute");
  EXPECT_EQ(name(std::nullopt, "immediate", std::nullopt), "immediate");
  EXPECT_EQ(name("batch", "immediate", std::nullopt), "immediate");
}

TEST(RunKind, AUsersOwnRunMeansWhatItsNameMeans) {
  for (const char* barrier : {"batch", "none", "in-flight:4"}) {
    for (const auto& [schedule, budget] : {std::pair{"oldest_first", "auto"},
                                           {"oldest_first", "1MiB"},
                                           {"oldest_first", "50%"},
                                           {"oldest_first", "unbounded"},
                                           {"first_ready", "auto"}}) {
      const RunKind own = own_run(barrier, schedule, budget, false), named = parse_run("--runs", own.name);
      EXPECT_EQ(own.barrier, named.barrier) << own.name;
      EXPECT_EQ(own.in_flight, named.in_flight) << own.name;
      EXPECT_EQ(own.schedule, named.schedule) << own.name;
      EXPECT_EQ(own.budget, named.budget) << own.name;
      EXPECT_EQ(own.budget_share, named.budget_share) << own.name;
    }
  }
}

TEST(RunKind, WhatAnOptionDoesNotHaveIsRejected) {
  EXPECT_EQ(bad_input([] { own_run("loss", std::nullopt, std::nullopt, false); }),
            "--barrier: 'loss' is not batch, none or in-flight:K");
  EXPECT_EQ(bad_input([] { own_run("none:unbounded", std::nullopt, std::nullopt, false); }),
            "--barrier: 'none:unbounded' is not batch, none or in-flight:K");
  EXPECT_THAT(bad_input([] { own_run("in-flight:0", std::nullopt, std::nullopt, false); }),
              HasSubstr("'0' is not a whole number"));
  EXPECT_EQ(bad_input([] { own_run(std::nullopt, "newest_first", std::nullopt, false); }),
            "--schedule: 'newest_first' is not oldest_first, first_ready or immediate");
  EXPECT_EQ(bad_input([] { own_run(std::nullopt, std::nullopt, "lots", false); }),
            "--memory-budget: 'lots' is not a number of bytes (1000000, 64MiB), a percentage of the serial peak (50%), "
            "automatic or unbounded");
  EXPECT_THAT(bad_input([] { own_run(std::nullopt, "first_ready", "64MiB", false); }),
              StartsWith("--memory-budget: first_ready runs without a budget, so '64MiB' cannot be kept"));
  EXPECT_THAT(bad_input([] { own_run(std::nullopt, "first_ready", "50%", true); }),
              StartsWith("--memory-budget: first_ready runs without a budget, so '50%' cannot be kept"));
  for (const char* budget : {"auto", "unbounded"}) {
    EXPECT_THAT(bad_input([&] { own_run(std::nullopt, std::nullopt, budget, true); }),
                StartsWith("--recompute computes values again to keep within a budget: give --memory-budget"));
  }
  for (const char* budget : {"0%", "101%", "x%", "-1%"}) {
    EXPECT_THAT(bad_input([&] { own_run(std::nullopt, std::nullopt, budget, true); }),
                StartsWith(std::string("--memory-budget: '") + budget + "' is not a percentage above 0%"));
  }
}

}  // namespace
}  // namespace asyncgrad::experiment
