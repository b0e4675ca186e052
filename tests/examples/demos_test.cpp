// Every demonstration as its user meets it, at its smallest size. What it says about time is its own affair; what it
// says about values has to hold.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "examples/support/machine.h"
#include "examples/support/parse.h"
#include "examples/support/process.h"
#include "tests/examples/gnuplot.h"

namespace support {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Json read(const std::string& file) {
  std::ifstream stream(file);
  return Json::parse(stream);
}

class Demos : public testing::TestWithParam<std::string> {
 protected:
  Demos() { std::filesystem::create_directories(folder_); }
  ~Demos() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  static Outcome run(std::vector<std::string> arguments, int captured = 1) {
    arguments.insert(arguments.begin(), std::string(DEMO_FOLDER) + "/" + GetParam());
    return run_process({.arguments = std::move(arguments), .captured = captured});
  }

 private:
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("asyncgrad_demo_" + GetParam() + "_" + std::to_string(getpid()));
};

TEST_P(Demos, SaysWhatItMeasured) {
  const Outcome outcome = run({"--small", "--repeat", "1", "--json", file("data.json"), "--trace", file("trace.json"),
                               "--plot", file("picture.svg")});
  ASSERT_TRUE(outcome.good()) << outcome.what() << '\n' << outcome.output;
  const Json data = read(file("data.json"));
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
  EXPECT_FALSE(read(file("trace.json")).at("traceEvents").empty());
  if (has_gnuplot()) {
    EXPECT_GT(std::filesystem::file_size(file("picture.svg")), 0U);
  }
}

TEST_P(Demos, RefusesBadInputWithStatusTwo) {
  const std::vector<std::vector<std::string>> all{
      {"--bogus"}, {"--repeat", "0"}, {"--device", "cuda:9"}, {"--json", "/nonexistent/a.json"}, {"--plot", "a.txt"}};
  for (const std::vector<std::string>& arguments : all) {
    const Outcome outcome = run(arguments, 2);
    EXPECT_EQ(outcome.exit_status, 2) << arguments[0];
    EXPECT_THAT(outcome.output, AllOf(testing::StartsWith(GetParam() + ": "), HasSubstr(arguments[0])));
  }
}

// Whoever reads its figures is told where they come from, and no copy is faster than the link that they name.
TEST(ComputeAndCopy, SaysThatItsLinkIsSimulated) {
  const std::string file =
      (std::filesystem::path(testing::TempDir()) / fmt::format("asyncgrad_copy_{}.json", getpid())).string();
  const Outcome outcome =
      run_process({.arguments = {DEMO_FOLDER "/compute_and_copy", "--small", "--repeat", "1", "--json", file}});
  ASSERT_TRUE(outcome.good()) << outcome.what() << '\n' << outcome.output;
  const Json data = read(file);
  std::filesystem::remove(file);
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
}  // namespace support
