// Runs the examples that train a network as a user does, each at a small size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "asyncgrad/experiment/json.h"
#include "asyncgrad/experiment/process.h"
#include "tests/experiment/files.h"
#include "tests/support/temporary_folder.h"

namespace asyncgrad::experiment {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

using Arguments = std::vector<std::string>;

struct Network {
  std::string name;
  Arguments small;    // the options of a small training
  double loss_ratio;  // the last loss of that training is at most this part of the first
  std::string says;   // what it prints at the end of a run
  Arguments bad;      // options that it refuses
};
void PrintTo(const Network& network, std::ostream* out) { *out << network.name; }

class Networks : public tests::WithFolder<testing::TestWithParam<Network>> {
 protected:
  static Outcome run(const Arguments& arguments, int captured = 1) {
    Arguments all{std::string(EXAMPLE_FOLDER) + "/" + GetParam().name};
    all.insert(all.end(), GetParam().small.begin(), GetParam().small.end());
    all.insert(all.end(), arguments.begin(), arguments.end());
    return run_process({.arguments = std::move(all), .captured = captured});
  }

  // The runs in the results of a training, which must succeed.
  Json runs(Arguments arguments) const {
    arguments.insert(arguments.end(), {"--json", file("data.json"), "--plot", file("picture.svg")});
    const Outcome outcome = run(arguments);
    EXPECT_TRUE(outcome.good()) << outcome.what();
    EXPECT_THAT(outcome.output, HasSubstr(GetParam().says));
    return json_in(file("data.json"))["runs"];
  }
};

TEST_P(Networks, LearnTheSameBitsUnderEveryScheduleBarrierBudgetAndNumberOfThreads) {
  std::set<std::string> hashes, losses;
  for (const Arguments& arguments :
       {Arguments{"--workers", "1", "--runs", "immediate,none"},
        Arguments{"--workers", "3", "--runs",
                  "immediate,batch,in-flight:1,in-flight:2,none,none:64KiB,none:unbounded,none:first_ready,"
                  "none:60%:recompute"}}) {
    for (const Json& run : runs(arguments)) {
      hashes.insert(run["parameters_hash"].get<std::string>());
      losses.insert(run["last_loss"].dump());
      EXPECT_LT(run["last_loss"].get<double>(), GetParam().loss_ratio * run["first_loss"].get<double>());
      EXPECT_EQ(run["budget_excess_bytes"], 0) << run["name"];
    }
  }
  EXPECT_EQ(hashes.size(), 1U);
  EXPECT_EQ(losses.size(), 1U);
}

TEST_P(Networks, ExplainAndTraceARun) {
  const Outcome outcome = run({"--runs", "none", "--json", file("data.json"), "--plot", file("picture.svg"), "--trace",
                               file("trace.json"), "--explain"});
  ASSERT_TRUE(outcome.good()) << outcome.what();
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("held back by admission"), HasSubstr("trace: " + file("trace.json"))));
  EXPECT_FALSE(json_in(file("trace.json"))["traceEvents"].empty());
}

TEST_P(Networks, GoOnFromACheckpointWithTheSameBits) {
  const Json straight = runs({"--runs", "none"})[0];
  const std::string middle = std::to_string(straight["batches"].get<int>() / 2);
  runs({"--runs", "none", "--checkpoint", file("kept"), "--stop-after", middle});
  const Json resumed = runs({"--runs", "none", "--resume", file("kept")})[0];
  EXPECT_EQ(resumed["resumed_after"].dump(), middle);
  EXPECT_EQ(resumed["batches"], straight["batches"]);
  EXPECT_EQ(resumed["parameters_hash"], straight["parameters_hash"]);
  EXPECT_EQ(resumed["last_loss"], straight["last_loss"]);
}

TEST_P(Networks, TellTheirMemoryInADryRun) {
  const std::string peak = runs({"--runs", "none"})[0]["serial_peak_bytes"].dump();
  const Outcome outcome = run({"--dry-run"});
  ASSERT_TRUE(outcome.good()) << outcome.what();
  EXPECT_THAT(outcome.output, HasSubstr(" operations; their serial peak is " + peak + " bytes, reached by ["));
}

TEST_P(Networks, RefuseBadInputWithStatusTwo) {
  std::vector<Arguments> all{{"--bogus"},        {"--runs", "nine"},    {"--batch-size", "0"},
                             {"--lr", "inf"},    {"--plot", "a.txt"},   {"--json", "/nonexistent/a.json"},
                             {"--batches", "0"}, {"--device", "cuda:9"}};
  if (!GetParam().bad.empty()) all.push_back(GetParam().bad);
  for (const Arguments& arguments : all) {
    const Outcome outcome = run(arguments, 2);
    EXPECT_EQ(outcome.exit_status, 2) << arguments[0];
    EXPECT_THAT(outcome.output, AllOf(StartsWith(GetParam().name + ": "), HasSubstr(arguments[0])));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Examples, Networks,
    testing::Values(Network{"lenet", {"--batches", "40", "--batch-size", "16"}, 0.5, "% of the digits held out", {}},
                    Network{"resnet",
                            {"--batches", "30", "--batch-size", "16", "--width", "4", "--edge", "16"},
                            0.8,
                            "% of the digits held out",
                            {"--width", "0"}},
                    Network{"gpt", {"--batches", "2", "--batch-size", "1"}, 1.1, "it writes:", {}},
                    Network{"lstm_text",
                            {"--batches", "30", "--batch-size", "8", "--steps", "8", "--hidden", "16", "--lr", "0.02"},
                            0.9,
                            "on text that it has not seen",
                            {"--max-norm", "-1"}},
                    Network{
                        "seq2seq",
                        {"--batches", "30", "--batch-size", "16", "--longest", "4", "--hidden", "16", "--lr", "0.01"},
                        0.9,
                        "% of the sequences held out",
                        {"--longest", "0"}},
                    Network{"gan",
                            {"--batches", "10", "--batch-size", "16", "--width", "4", "--noise", "4"},
                            2,
                            "are taken for real",
                            {"--noise", "0"}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace asyncgrad::experiment
