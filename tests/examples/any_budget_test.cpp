// Runs any_budget as a user does, at a small size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "asyncgrad/experiment/json.h"
#include "asyncgrad/experiment/process.h"
#include "tests/experiment/files.h"
#include "tests/experiment/gnuplot.h"
#include "tests/support/temporary_folder.h"

namespace asyncgrad::experiment {
namespace {

using testing::HasSubstr;

class AnyBudget : public tests::WithFolder<testing::Test> {
 protected:
  static Outcome run(std::vector<std::string> arguments, int captured = 1) {
    arguments.insert(arguments.begin(), std::string(EXAMPLE_FOLDER) + "/any_budget");
    return run_process({.arguments = std::move(arguments), .captured = captured});
  }
};

TEST_F(AnyBudget, KeepsTheBudgetAndTheBitsAndThePrediction) {
  const Outcome outcome = run({"--network", "residual_mlp", "--batch-size", "2048", "--budgets", "100%,70%", "--repeat",
                               "1", "--steps", "1", "--json", file("data.json")});
  ASSERT_TRUE(outcome.good()) << outcome.what() << outcome.output;
  const Json data = json_in(file("data.json"));
  EXPECT_EQ(data.at("format"), 1);
  ASSERT_EQ(data.at("runs").size(), 2U);
  std::set<std::string> hashes;
  for (const Json& entry : data["runs"]) {
    EXPECT_EQ(entry.at("network"), "residual_mlp");
    EXPECT_LE(entry.at("recompute_peak_bytes"), entry.at("budget_bytes"));
    EXPECT_LE(entry.at("peak_live_bytes"), entry.at("budget_bytes"));
    EXPECT_LE(entry.at("budget_bytes"), entry.at("serial_peak_bytes"));
    EXPECT_EQ(entry.at("recomputed_operations"), entry.at("predicted_recomputed_operations"));
    EXPECT_GT(entry.at("time_ratio"), 0);
    hashes.insert(entry.at("parameters_hash").get<std::string>());
  }
  EXPECT_EQ(hashes.size(), 1U);
  EXPECT_GT(data["runs"][1].at("recomputed_operations"), 0);
  EXPECT_GT(data["runs"][1].at("added_work"), 0);
}

TEST_F(AnyBudget, DrawsACurveForEachNetwork) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot";
  const Outcome outcome = run({"--network", "resnet,residual_mlp", "--batch-size", "1", "--budgets", "100%", "--repeat",
                               "1", "--steps", "1", "--plot", file("picture.svg")});
  ASSERT_TRUE(outcome.good()) << outcome.what() << outcome.output;
  const std::string picture = content(file("picture.svg"));
  EXPECT_THAT(picture, HasSubstr("resnet"));
  EXPECT_THAT(picture, HasSubstr("residual_mlp"));
}

TEST_F(AnyBudget, RefusesWhatItCannotDo) {
  const auto refusal = [](std::vector<std::string> arguments) {
    const Outcome outcome = run(std::move(arguments), 2);
    EXPECT_EQ(outcome.exit_status, 2);
    return outcome.output;
  };
  EXPECT_THAT(refusal({"--network", "vgg"}), HasSubstr("--network: 'vgg' is not one of residual_mlp, gpt, resnet"));
  for (const char* budget : {"0%", "101%", "-1", "x%", ""}) {
    EXPECT_THAT(refusal({"--budgets", budget}),
                HasSubstr(std::string("--budgets: '") + budget + "' is not a percentage above 0% and at most 100%"));
  }
  EXPECT_THAT(refusal({"--repeat", "0"}), HasSubstr("--repeat: '0' is not a whole number"));
}

}  // namespace
}  // namespace asyncgrad::experiment
