// Runs every demonstration as a user does, at its smallest size. Its claims about values must hold; its claims about
// time depend on the machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "asyncgrad/experiment/json.h"
#include "asyncgrad/experiment/parse.h"
#include "asyncgrad/experiment/process.h"
#include "tests/experiment/files.h"
#include "tests/experiment/gnuplot.h"
#include "tests/experiment/shell.h"
#include "tests/support/temporary_folder.h"

namespace asyncgrad::experiment {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Demos : public tests::WithFolder<testing::TestWithParam<std::string>> {
 protected:
  static std::string program() { return std::string(EXAMPLE_FOLDER) + "/" + GetParam(); }

  static Outcome run(std::vector<std::string> arguments, int captured = 1) {
    arguments.insert(arguments.begin(), program());
    return run_process({.arguments = std::move(arguments), .captured = captured});
  }
};

TEST_P(Demos, SaysWhatItMeasured) {
  const Outcome outcome = run({"--small", "--repeat", "1", "--json", file("data.json"), "--trace", file("trace.json"),
                               "--plot", file("picture.svg")});
  ASSERT_TRUE(outcome.good()) << outcome.what() << '\n' << outcome.output;
  const Json data = json_in(file("data.json"));
  EXPECT_EQ(data.at("format"), 1);
  EXPECT_EQ(data.at("demo"), GetParam());
  EXPECT_GE(data.at("machine").at("cores"), 1);
  if (data.contains("skipped")) {
    EXPECT_THAT(outcome.output, HasSubstr(data.at("skipped").get<std::string>()));
    GTEST_SKIP() << data.at("skipped");
  }
  ASSERT_FALSE(data.at("claims").empty());
  for (const Json& claim : data.at("claims")) {
    const std::string sentence = claim.at("claim");
    EXPECT_THAT(outcome.output, HasSubstr(sentence));
    EXPECT_FALSE(claim.at("figures").empty()) << sentence;
    EXPECT_TRUE(claim.at("about") == "time" || claim.at("holds") == true) << sentence;
  }
  for (const Json& benchmark : data.at("benchmarks")) EXPECT_GE(benchmark.at("seconds"), 0) << benchmark.at("name");
  EXPECT_FALSE(json_in(file("trace.json")).at("traceEvents").empty());
  if (has_gnuplot()) {
    EXPECT_GT(std::filesystem::file_size(file("picture.svg")), 0U);
  }
}

TEST_P(Demos, RefusesBadInputWithStatusTwo) {
  const std::vector<std::vector<std::string>> all{{"--bogus"},
                                                  {"--"},
                                                  {"--repeat", "0"},
                                                  {"--device", "cuda:9"},
                                                  {"--json", "/nonexistent/a.json"},
                                                  {"--plot", "a.txt"},
                                                  {"--trace", file("a"), "--json", file("a")}};
  for (const std::vector<std::string>& arguments : all) {
    const Outcome outcome = run(arguments, 2);
    EXPECT_EQ(outcome.exit_status, 2) << arguments[0];
    EXPECT_THAT(outcome.output, AllOf(testing::StartsWith(GetParam() + ": "), HasSubstr(arguments[0])));
  }
}

TEST_P(Demos, LostOutputIsAnError) {
  for (const char* redirection : {">/dev/full", ">&-"}) {
    const Outcome outcome = run_in_shell({program(), "--help"}, redirection);
    EXPECT_EQ(outcome.exit_status, 1);
    EXPECT_THAT(outcome.output, HasSubstr(GetParam() + ": standard output could not be written: "));
  }
}

// The claims are printed and the data written although there is no room for the trace.
TEST(Barriers, GoesOnWithoutATrace) {
  const tests::TemporaryFolder folder;
  const Outcome outcome = run_process({.arguments = {EXAMPLE_FOLDER "/barriers", "--small", "--repeat", "1", "--trace",
                                                     "/dev/full", "--json", folder.file("data.json")},
                                       .captured = 2});
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_EQ(outcome.output, "barriers: cannot write '/dev/full': No space left on device\n");
  EXPECT_EQ(json_in(folder.file("data.json")).at("claims").size(), 2U);
}

// Temporary files have names that cannot be guessed, and are removed.
TEST(Barriers, LeavesNothingInTheTemporaryFolder) {
  const tests::TemporaryFolder folder, temporary;
  const Outcome outcome = run_in_shell({EXAMPLE_FOLDER "/barriers", "--small", "--repeat", "1", "--plot",
                                        folder.file("picture.svg"), "--trace", "/dev/null"},
                                       "", "export TMPDIR=" + temporary.path());
  EXPECT_TRUE(outcome.good()) << outcome.output;
  EXPECT_EQ(number_of_files(temporary.path()), 0);
}

TEST(MatmulAsync, DoesNotTakeAFileOfTheCurrentFolderForNumpy) {
  const tests::TemporaryFolder folder;
  write(folder.file("numpy.py"), "open('imported', 'w')\n");
  run_in_shell({EXAMPLE_FOLDER "/matmul_async", "--small", "--repeat", "1"}, "", "cd " + folder.path());
  EXPECT_EQ(number_of_files(folder.path()), 1);
}

// The figures say where they come from, and no copy is faster than the link that they name.
TEST(ComputeAndCopy, SaysThatItsLinkIsSimulated) {
  const tests::TemporaryFolder folder;
  const std::string file = folder.file("data.json");
  const Outcome outcome =
      run_process({.arguments = {EXAMPLE_FOLDER "/compute_and_copy", "--small", "--repeat", "1", "--json", file}});
  ASSERT_TRUE(outcome.good()) << outcome.what() << '\n' << outcome.output;
  const Json data = json_in(file);
  EXPECT_THAT(outcome.output, testing::StartsWith("Simulated: "));
  const Json &claim = data.at("claims").at(0), &figures = claim.at("figures");
  EXPECT_THAT(claim.at("claim").get<std::string>(), HasSubstr("simulated link of 500 MB/s"));
  EXPECT_EQ(figures.at("simulated_link_bytes_per_second"), 500e6);
  constexpr double size_bytes = 50 * 100 * 100 * 4;
  for (const char* const measured : {"copy_s", "both_s"}) EXPECT_GE(figures.at(measured), size_bytes / 500e6);
}

INSTANTIATE_TEST_SUITE_P(Examples, Demos, testing::ValuesIn(split(DEMOS, ' ')),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace asyncgrad::experiment
