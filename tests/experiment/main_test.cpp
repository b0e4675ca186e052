#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "asyncgrad/experiment/process.h"
#include "tests/experiment/files.h"
#include "tests/experiment/shell.h"
#include "tests/support/temporary_folder.h"

namespace asyncgrad::experiment {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Experiment : public asyncgrad::tests::WithFolder<> {
 protected:
  Outcome run(const std::string& runs, int captured, const std::vector<std::string>& more = {}) const {
    Command command{.arguments = {TROUBLED_RUNS, "--runs", runs, "--batches", "2", "--json", file("data.json"),
                                  "--plot", file("picture.svg")},
                    .captured = captured};
    command.arguments.insert(command.arguments.end(), more.begin(), more.end());
    return run_process(command);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    const Json data = json_in(file("data.json"));
    for (const Json& run : data.at("runs")) names.push_back(run.at("name"));
    return names;
  }
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

TEST_F(Experiment, AnOperationThatFailsEndsItsRun) {
  const Outcome outcome = run("none:unbounded,in-flight:2", 2, {"--explain"});
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("[batch] no such batch"), HasSubstr("run none:unbounded failed: its process ended")));
  EXPECT_THAT(names(), ElementsAre("in-flight:2"));
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
  EXPECT_THAT(outcome.output, HasSubstr("cannot write '" + file("data.json") + "': File too large"));
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
    EXPECT_THAT(outcome.output, HasSubstr(std::string(option) + ": cannot write '" + missing + "': No such file"));
    EXPECT_THAT(outcome.output, Not(HasSubstr("run none failed")));
  }
}

// --- A program with options of its own.

class OwnTraining : public Experiment {
 protected:
  Outcome own(std::vector<std::string> arguments, int captured = 1) const {
    arguments.insert(arguments.begin(), OWN_TRAINING);
    arguments.insert(arguments.end(), {"--json", file("data.json"), "--plot", file("picture.svg")});
    return run_process({.arguments = std::move(arguments), .captured = captured});
  }
  Json runs(std::vector<std::string> arguments) const {
    const Outcome outcome = own(std::move(arguments));
    EXPECT_TRUE(outcome.good()) << outcome.what();
    return json_in(file("data.json")).at("runs");
  }
};

TEST_F(OwnTraining, RunsInAllWaysWithItsOwnDefaults) {
  const Json all = runs({"--batch-size", "8"});
  ASSERT_EQ(all.size(), 7U);
  for (const Json& run : all) {
    EXPECT_EQ(run["batches"], 6);
    EXPECT_EQ(run["batch_size"], 8);
    EXPECT_EQ(run["seed"], 3);
    EXPECT_EQ(run["layers"], 2);
    EXPECT_EQ(run["lr"], 0.1);
    EXPECT_EQ(run["biased"], false);
    EXPECT_EQ(run["greeting"], "hello");
    EXPECT_EQ(run["widths"], Json({5, 6, 7}));
    EXPECT_EQ(run["parameters_hash"], all[0]["parameters_hash"]);
  }
}

TEST_F(OwnTraining, TakesWhatIsGiven) {
  const std::vector<std::string> given{"--runs",     "none",     "--batch-size", "8",    "--layers", "3",
                                       "--features", "5",        "--lr",         "0.25", "--biased", "--greeting",
                                       "it's me",    "--widths", "1,2,3"};
  const Json run = runs(given)[0], other = runs({"--runs", "none", "--batch-size", "8"})[0];
  EXPECT_EQ(run["layers"], 3);
  EXPECT_EQ(run["features"], 5);
  EXPECT_EQ(run["lr"], 0.25);
  EXPECT_EQ(run["biased"], true);
  EXPECT_EQ(run["widths"], Json({1, 2, 3}));
  EXPECT_GT(run["setup_live_bytes"], other["setup_live_bytes"]);
  EXPECT_THAT(own(given).output, HasSubstr("it's me from cpu\n"));
}

TEST_F(OwnTraining, ALossThatIsNotFiniteCostsNoFigures) {
  const Outcome outcome = own({"--runs", "batch,none", "--lr", "1e300", "--biased"});
  EXPECT_TRUE(outcome.good()) << outcome.what();
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("All 2 runs ended with the same parameters"), HasSubstr("data: ")));
  const Json data = json_in(file("data.json"));
  for (const Json& run : data.at("runs")) {
    EXPECT_EQ(run["bound"], "inf");
    EXPECT_EQ(run["last_loss"], "nan");
  }
}

TEST_F(OwnTraining, ADryRunReportsNothingThatWasLearned) {
  const Outcome outcome = run_process({.arguments = {OWN_TRAINING, "--dry-run"}, .captured = 1});
  EXPECT_TRUE(outcome.good()) << outcome.what();
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("their serial peak is"), Not(HasSubstr("hello"))));
}

// It would leave files unwritten that were asked for.
TEST_F(OwnTraining, ADryRunRefusesFilesOfFigures) {
  for (const char* option : {"--json", "--plot", "--trace"}) {
    const Outcome outcome = run_process(
        {.arguments = {OWN_TRAINING, "--runs", "none", "--dry-run", option, file("of.svg")}, .captured = 2});
    EXPECT_EQ(outcome.exit_status, 2) << option;
    EXPECT_THAT(outcome.output, HasSubstr("--dry-run cannot be combined with")) << option;
  }
}

TEST_F(OwnTraining, RefusesARunThatIsThereTwice) {
  const Outcome outcome = own({"--runs", "none,batch,none"}, 2);
  EXPECT_EQ(outcome.exit_status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("--runs: 'none' is there twice"));
}

TEST_F(OwnTraining, RefusesWhatIsNotOfTheOptionsKind) {
  const std::vector<std::pair<std::string, std::string>> bad{
      {"--layers", "0"}, {"--features", "x"}, {"--lr", "nan"}, {"--widths", "1,2"}, {"--widths", "1,2,x"}};
  for (const auto& [option, value] : bad) {
    const Outcome outcome = own({option, value}, 2);
    EXPECT_EQ(outcome.exit_status, 2);
    EXPECT_THAT(outcome.output, HasSubstr(option + ": '")) << outcome.output;
  }
}

TEST_F(OwnTraining, HelpShowsTheDefaults) {
  const std::string help = own({"--help"}).output;
  for (const char* text : {"Number of batches in a run. Default: 6", "Default: 1024", "Number of layers. Default: 2",
                           "--widths N,N,N", "Default: 5,6,7", "Seed of data and weights. Default: 3"}) {
    EXPECT_THAT(help, HasSubstr(text));
  }
}

}  // namespace
}  // namespace asyncgrad::experiment
