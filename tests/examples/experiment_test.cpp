#include "examples/support/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "examples/support/process.h"
#include "examples/support/results.h"
#include "tests/examples/files.h"
#include "tests/examples/shell.h"
#include "tests/support/temporary_folder.h"

namespace support {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Experiment : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_.file(name); }

  Outcome run(const std::string& runs, int captured, const std::vector<std::string>& more = {}) const {
    Command command{.arguments = {TROUBLED_RUNS, "--runs", runs, "--batches", "2", "--json", file("data.json"),
                                  "--plot", file("picture.svg")},
                    .captured = captured};
    command.arguments.insert(command.arguments.end(), more.begin(), more.end());
    return run_process(command);
  }
  std::vector<std::string> names() const { return names_of(json_in(file("data.json")).at("runs")); }

 private:
  asyncgrad::tests::TemporaryFolder folder_;
};

TEST_F(Experiment, ARunThatFailsIsNamedAndTheOthersAreReported) {
  const Outcome outcome = run("immediate,batch,in-flight:2", 2);
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("the loss is gone"),
                                    HasSubstr("run batch failed: its process ended with exit status 1")));
  EXPECT_THAT(names(), ElementsAre("immediate", "in-flight:2"));
}

TEST_F(Experiment, ARunThatIsKilledIsNamedAndTheOthersAreReported) {
  const Outcome outcome = run("none,in-flight:2", 2);
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("run none failed: its process was ended by signal 9 (Killed)"));
  EXPECT_THAT(names(), ElementsAre("in-flight:2"));
  EXPECT_THAT(run("none,in-flight:2", 1).output, AllOf(HasSubstr("in-flight:2 "), HasSubstr("data: ")));
}

TEST_F(Experiment, WhereAllRunsFailOldResultsStay) {
  write(file("data.json"), "old data");
  write(file("picture.svg"), "old picture");
  const Outcome outcome = run("none,batch", 2);
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("No run was measured, so '" + file("data.json") + "' and '" +
                                        file("picture.svg") + "' stay as they were."));
  EXPECT_EQ(content(file("data.json")), "old data");
  EXPECT_EQ(content(file("picture.svg")), "old picture");
}

TEST_F(Experiment, ATraceThatCannotBeWrittenCostsNoFigures) {
  const Outcome outcome = run("in-flight:2", 2, {"--trace", "/dev/full"});
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("troubled_runs: "), HasSubstr("'/dev/full': No space left on device"),
                                    HasSubstr("run in-flight:2 failed after it was measured")));
  EXPECT_THAT(names(), ElementsAre("in-flight:2"));
}

TEST_F(Experiment, LostOutputCostsNoFigures) {
  const Outcome outcome =
      run_in_shell({TROUBLED_RUNS, "--runs", "in-flight:2", "--json", file("data.json"), "--plot", file("picture.svg")},
                   ">/dev/full");
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("standard output could not be written: No space left on device"));
  EXPECT_THAT(names(), ElementsAre("in-flight:2"));
}

TEST_F(Experiment, ResultsThatDoNotFitLeaveTheOldOnes) {
  write(file("data.json"), "old data");
  write(file("picture.svg"), "old picture");
  const Outcome outcome =
      run_in_shell({TROUBLED_RUNS, "--runs", "in-flight:2", "--json", file("data.json"), "--plot", file("picture.svg")},
                   "", "ulimit -f 0");
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("'" + file("data.json") + "' cannot be written: File too large"));
  EXPECT_EQ(content(file("data.json")), "old data");
  EXPECT_EQ(content(file("picture.svg")), "old picture");
}

// Returns only when the run's process has let go of the output, too.
TEST_F(Experiment, AnInterruptEndsTheRunAsWell) {
  const Outcome outcome = run("in-flight:1,in-flight:2", 1);
  EXPECT_EQ(outcome.exit_status, 130);
  EXPECT_EQ(outcome.output, "in-flight:1\n");
}

TEST_F(Experiment, FilesAreCheckedBeforeTheRuns) {
  for (const char* option : {"--json", "--plot"}) {
    const std::string missing = file("no_such_folder/a.svg");
    const Outcome outcome = run("none", 2, {option, missing});
    EXPECT_EQ(outcome.exit_status, 2);
    EXPECT_THAT(outcome.output, HasSubstr(std::string(option) + ": '" + missing + "' cannot be written: No such file"));
    EXPECT_THAT(outcome.output, Not(HasSubstr("run none failed")));
  }
}

}  // namespace
}  // namespace support
