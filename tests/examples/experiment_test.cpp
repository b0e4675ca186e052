#include "examples/support/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "examples/support/process.h"
#include "examples/support/results.h"

namespace support {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string temporary(const std::string& name) { return testing::TempDir() + "asyncgrad_experiment_" + name; }

Outcome run_troubled(const std::string& name, const std::string& runs, int captured) {
  return run_process({.arguments = {TROUBLED_RUNS, "--runs", runs, "--batches", "2", "--json",
                                    temporary(name + ".json"), "--plot", temporary(name + ".svg")},
                      .captured = captured});
}

Json runs_in(const std::string& name) {
  std::ifstream file(temporary(name + ".json"));
  return Json::parse(file).at("runs");
}

TEST(Experiment, ARunThatFailsIsNamedAndTheOthersAreReported) {
  const Outcome outcome = run_troubled("failed", "immediate,batch,in-flight:2", 2);
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("the loss is gone"),
                                    HasSubstr("run batch failed: its process ended with exit status 1")));
  EXPECT_THAT(names_of(runs_in("failed")), ElementsAre("immediate", "in-flight:2"));
}

TEST(Experiment, ARunThatIsKilledIsNamedAndTheOthersAreReported) {
  const Outcome outcome = run_troubled("killed", "none,in-flight:2", 2);
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("run none failed: its process was ended by signal 9 (Killed)"));
  EXPECT_THAT(names_of(runs_in("killed")), ElementsAre("in-flight:2"));
  EXPECT_THAT(run_troubled("killed", "none,in-flight:2", 1).output,
              AllOf(HasSubstr("in-flight:2 "), HasSubstr("data: ")));
}

TEST(Experiment, WhereAllRunsFailTheDataSayWhereAndHaveNoRun) {
  EXPECT_EQ(run_troubled("all", "none,batch", 2).exit_status, 1);
  EXPECT_TRUE(runs_in("all").empty());
}

// Returns only when the run's process has let go of the output, too.
TEST(Experiment, AnInterruptEndsTheRunAsWell) {
  const Outcome outcome = run_troubled("interrupted", "in-flight:1,in-flight:2", 1);
  EXPECT_EQ(outcome.exit_status, 130);
  EXPECT_EQ(outcome.output, "in-flight:1\n");
}

TEST(Experiment, FilesAreCheckedBeforeTheRuns) {
  for (const char* option : {"--json", "--plot"}) {
    const std::string file = temporary("no_such_folder/a.svg");
    const std::vector<std::string> arguments{TROUBLED_RUNS, "--runs", "none", option, file};
    const Outcome outcome = run_process({.arguments = arguments, .captured = 2});
    EXPECT_EQ(outcome.exit_status, 2);
    EXPECT_THAT(outcome.output, HasSubstr(std::string(option) + ": '" + file + "' cannot be written: No such file"));
    EXPECT_THAT(outcome.output, Not(HasSubstr("run none failed")));
  }
}

}  // namespace
}  // namespace support
