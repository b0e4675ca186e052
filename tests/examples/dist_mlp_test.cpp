// Runs the program as a user does, in a world of one.
#include <gmock/gmock.h>

#include <string>

#include "asyncgrad/experiment/process.h"
#include "tests/experiment/files.h"
#include "tests/support/temporary_folder.h"

namespace asyncgrad::experiment {
namespace {

using testing::HasSubstr;

class DistMlp : public tests::WithFolder<> {
 protected:
  // What it prints.
  static std::string run(const std::string& parts, const std::string& json) {
    const Outcome outcome = run_process({.arguments = {DIST_MLP, "--parts", parts, "--json", json}, .captured = 1});
    EXPECT_TRUE(outcome.good()) << outcome.what() << outcome.output;
    return outcome.output;
  }
  static double loss_in(const std::string& output) { return std::stod(output.substr(output.find("loss ") + 5)); }
};

TEST_F(DistMlp, SaysThatAWorldOfOneSendsNothing) {
  EXPECT_THAT(run("2", file("figures.json")), HasSubstr(" ms a step, nothing sent, loss "));
  EXPECT_THAT(content(file("figures.json")), HasSubstr("\"parts\": 2, \"hidden_share\": null, \"step_s\": "));
}

TEST_F(DistMlp, RefusesBadInput) {
  const auto outcome_of = [](const std::string& parts, const std::string& json) {
    return run_process({.arguments = {DIST_MLP, "--parts", parts, "--json", json}, .captured = 2});
  };
  for (const char* parts : {"0", "-3", "8x", "abc", "99999999999"}) {
    const Outcome outcome = outcome_of(parts, file("figures.json"));
    EXPECT_EQ(outcome.exit_status, 2) << parts;
    EXPECT_THAT(outcome.output, HasSubstr(std::string("--parts: '") + parts + "' is not a number of parts"));
  }
  const Outcome outcome = outcome_of("1", file("no folder/figures.json"));
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("figures.json' cannot be written"));
}

// That of the last batch, and not of its last part: the numbers of parts differ in rounding alone.
TEST_F(DistMlp, PrintsTheLossOfTheWholeBatch) {
  const double whole = loss_in(run("1", file("figures.json")));
  EXPECT_NEAR(loss_in(run("32", file("figures.json"))), whole, 0.02 * whole);
}

}  // namespace
}  // namespace asyncgrad::experiment
