// Runs the program as a user does, with a tiny network.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
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

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int parameter_bytes = ((512 + 1) * 8 + (8 + 1) * 4 + (4 + 1)) * 4;

class AsyncTraining : public tests::WithFolder<> {
 protected:
  Outcome run(std::vector<std::string> arguments, int captured = 1, std::vector<std::string> before = {}) const {
    before.insert(before.end(), {ASYNC_TRAINING, "--batches", "4", "--batch-size", "16", "--hidden", "8,4"});
    before.insert(before.end(), arguments.begin(), arguments.end());
    return run_process({.arguments = std::move(before), .captured = captured});
  }

  // The data of a run of the program, which must succeed.
  Json data(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--json", file("data.json"), "--plot", file("picture.svg")});
    const Outcome outcome = run(std::move(arguments));
    EXPECT_TRUE(outcome.good()) << outcome.what();
    return json_in(file("data.json"));
  }
};

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& item : object.items()) keys.push_back(item.key());
  return keys;
}

TEST_F(AsyncTraining, DataHasItsDocumentedForm) {
  const Json all = data({});
  EXPECT_THAT(keys_of(all), ElementsAre("format", "machine", "runs"));
  EXPECT_EQ(all["format"], 1);
  const Json& machine = all["machine"];
  EXPECT_THAT(keys_of(machine), ElementsAre("cpu", "cores", "memory_bytes", "os", "compiler", "onednn"));
  EXPECT_GE(machine["cores"], 1);
  EXPECT_GT(machine["memory_bytes"], 1 << 20);
  std::vector<std::string> names;
  for (const Json& run : all["runs"]) names.push_back(run["name"]);
  EXPECT_THAT(names, ElementsAre("immediate", "batch", "in-flight:1", "in-flight:2", "none", "none:unbounded",
                                 "none:first_ready"));
  for (const Json& run : all["runs"]) {
    EXPECT_THAT(
        keys_of(run),
        ElementsAre("name", "device", "math", "barrier", "in_flight", "schedule", "memory_budget_bytes", "batches",
                    "batch_size", "hidden", "lr", "seed", "workers", "operations", "inlined_operations", "frontend_s",
                    "frontend_wait_s", "total_s", "setup_live_bytes", "serial_peak_bytes", "peak_live_bytes",
                    "peak_rss_growth_bytes", "peak_queued_operations", "budget_excess_bytes", "live_bytes_timeline",
                    "first_loss", "last_loss", "parameters_hash"));
    EXPECT_EQ(run["device"], "cpu");
    EXPECT_EQ(run["math"], "float32");
    EXPECT_EQ(run["batches"], 4);
    EXPECT_EQ(run["batch_size"], 16);
    EXPECT_EQ(run["hidden"], Json({8, 4}));
    EXPECT_EQ(run["lr"], 0.01);
    EXPECT_EQ(run["seed"], 0);
  }
}

TEST_F(AsyncTraining, RunsSayHowTheyWereRun) {
  const Json runs = data({"--workers", "2", "--seed", "5", "--runs",
                          "immediate,batch,in-flight:3,none:1MiB,none:unbounded,none:first_ready"})["runs"];
  const char* barriers[] = {"none", "batch", "in-flight", "none", "none", "none"};
  const char* schedules[] = {"immediate",    "oldest_first", "oldest_first",
                             "oldest_first", "oldest_first", "first_ready"};
  ASSERT_EQ(runs.size(), 6U);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(runs[i]["barrier"], barriers[i]);
    EXPECT_EQ(runs[i]["schedule"], schedules[i]);
    EXPECT_EQ(runs[i]["in_flight"], i == 2 ? Json(3) : Json(nullptr));
    EXPECT_EQ(runs[i]["workers"], 2);
    EXPECT_EQ(runs[i]["seed"], 5);
  }
  EXPECT_GT(runs[1]["memory_budget_bytes"], parameter_bytes);
  EXPECT_EQ(runs[3]["memory_budget_bytes"], 1 << 20);
  EXPECT_TRUE(runs[4]["memory_budget_bytes"].is_null());
  EXPECT_TRUE(runs[5]["memory_budget_bytes"].is_null());
}

TEST_F(AsyncTraining, EveryRunEndsWithTheSameParameters) {
  const Json runs = data({"--batches", "20"})["runs"];
  std::set<std::string> hashes;
  for (const Json& run : runs) {
    hashes.insert(run["parameters_hash"]);
    EXPECT_EQ(run["first_loss"], runs[0]["first_loss"]);
    EXPECT_EQ(run["last_loss"], runs[0]["last_loss"]);
    EXPECT_EQ(run["operations"], runs[0]["operations"]);
  }
  ASSERT_EQ(hashes.size(), 1U);
  EXPECT_THAT(*hashes.begin(), testing::MatchesRegex("[0-9a-f]{16}"));
  EXPECT_LT(runs[0]["last_loss"], runs[0]["first_loss"]);
  EXPECT_GT(runs[0]["operations"], 20);
  EXPECT_NE(data({"--runs", "none", "--seed", "1"})["runs"][0]["parameters_hash"], *hashes.begin());
}

TEST_F(AsyncTraining, InBf16RunsEndAlikeToo) {
  const Json float32 = data({"--runs", "none"})["runs"][0];
  const Json runs = data({"--runs", "immediate,batch,none,none:first_ready", "--math", "bf16"})["runs"];
  for (const Json& run : runs) {
    EXPECT_EQ(run["math"], "bf16");
    EXPECT_EQ(run["parameters_hash"], runs[0]["parameters_hash"]);
  }
  EXPECT_NE(runs[0]["parameters_hash"], float32["parameters_hash"]);
  const double loss = float32["last_loss"];
  EXPECT_NEAR(runs[0]["last_loss"], loss, 0.01 * loss);
}

TEST_F(AsyncTraining, FiguresFitEachOther) {
  const Json runs = data({"--runs", "immediate,batch,in-flight:1,none,none:64KiB,none:first_ready"})["runs"];
  EXPECT_EQ(runs.size(), 6U);
  for (const Json& run : runs) {
    EXPECT_GE(run["frontend_wait_s"], 0) << run["name"];
    EXPECT_LE(run["frontend_wait_s"], run["frontend_s"]) << run["name"];
    EXPECT_LE(run["frontend_s"], run["total_s"]) << run["name"];
    EXPECT_GE(run["setup_live_bytes"], parameter_bytes) << run["name"];
    EXPECT_GT(run["peak_live_bytes"], run["setup_live_bytes"]) << run["name"];
    EXPECT_GT(run["serial_peak_bytes"], run["setup_live_bytes"]) << run["name"];
    EXPECT_GE(run["peak_rss_growth_bytes"], 0) << run["name"];
    EXPECT_LE(run["peak_queued_operations"], run["operations"]) << run["name"];
    const Json& budget = run["memory_budget_bytes"];
    const std::int64_t peak = run["peak_live_bytes"], serial_peak = run["serial_peak_bytes"];
    const std::int64_t excess =
        budget.is_null() ? 0 : std::max<std::int64_t>(0, peak - std::max(budget.get<std::int64_t>(), serial_peak));
    EXPECT_EQ(run["budget_excess_bytes"], excess) << run["name"];
    EXPECT_EQ(excess, 0) << run["name"];
  }
}

TEST_F(AsyncTraining, LiveMemoryIsSeenOverTime) {
  const Json runs = data({"--batches", "300", "--runs", "immediate,in-flight:2,none"})["runs"];
  EXPECT_EQ(runs.size(), 3U);
  for (const Json& run : runs) {
    const Json& timeline = run["live_bytes_timeline"];
    ASSERT_FALSE(timeline.empty()) << run["name"];
    EXPECT_LE(timeline.size(), 2000U) << run["name"];
    double before_s = -1;
    std::int64_t peak = 0;
    for (const Json& sample : timeline) {
      ASSERT_EQ(sample.size(), 2U);
      EXPECT_GT(sample[0], before_s) << run["name"];
      before_s = sample[0];
      peak = std::max(peak, sample[1].get<std::int64_t>());
    }
    EXPECT_EQ(peak, run["peak_live_bytes"]) << run["name"];
  }
}

TEST_F(AsyncTraining, TheListIsGoneThroughInTurn) {
  const Json runs = data({"--runs", "batch,none", "--repeat", "2"})["runs"];
  ASSERT_EQ(runs.size(), 4U);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(runs[i]["name"], i % 2 == 0 ? "batch" : "none");
    EXPECT_EQ(runs[i]["repetition"], i < 2 ? 1 : 2);
  }
}

TEST_F(AsyncTraining, GoesOnFromACheckpointWithTheSameBits) {
  const Json straight = data({"--runs", "none"})["runs"][0];
  data({"--runs", "none", "--checkpoint", file("kept"), "--stop-after", "2"});
  const Json resumed = data({"--runs", "none", "--resume", file("kept")})["runs"][0];
  EXPECT_EQ(resumed["resumed_after"], 2);
  EXPECT_EQ(resumed["parameters_hash"], straight["parameters_hash"]);
}

TEST_F(AsyncTraining, EveryFiftiethBatchTheTableAndTheFilesAreOnStandardOutput) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot";
  const std::vector<std::string> arguments{"--runs", "batch,none",      "--batches", "100",
                                           "--json", file("data.json"), "--plot",    file("picture.svg")};
  const std::string output = run(arguments).output;
  const std::string heading_and_lines = "none\nbatch 50, time [0-9]+\\.[0-9]{4} sec\nbatch 100, time [0-9.]+ sec\n";
  EXPECT_THAT(output, testing::ContainsRegex(heading_and_lines));
  EXPECT_THAT(output, AllOf(HasSubstr("time per epoch"), HasSubstr("Without barriers the loop was queued in"),
                            HasSubstr("data: " + file("data.json")), HasSubstr("picture: " + file("picture.svg"))));
  EXPECT_EQ(run(arguments, 2).output, "") << "no progress line where there is no terminal";
}

TEST_F(AsyncTraining, PicturesAreWhatTheirNamesSay) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot";
  data({"--runs", "batch,none"});
  EXPECT_THAT(content(file("picture.svg")),
              AllOf(StartsWith("<?xml"), HasSubstr("none"), HasSubstr("live memory (MiB)")));
  ASSERT_TRUE(run({"--runs", "none", "--json", file("data.json"), "--plot", file("picture.png")}).good());
  EXPECT_THAT(content(file("picture.png")), StartsWith("\x89PNG"));
}

TEST_F(AsyncTraining, WithoutGnuplotTheDataAreKept) {
  const std::vector<std::string> arguments{"--runs",          "none",   "--json",
                                           file("data.json"), "--plot", file("picture.svg")};
  const Outcome outcome = run(arguments, 2, {"env", "PATH=/nonexistent"});
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_THAT(outcome.output, HasSubstr("no picture: gnuplot could not be started"));
  EXPECT_EQ(json_in(file("data.json")).at("runs").size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(file("picture.svg")));
}

TEST_F(AsyncTraining, BadInputIsRefusedWithStatusTwo) {
  const std::vector<std::vector<std::string>> all{{"--bogus"},
                                                  {"--runs", "nine"},
                                                  {"--runs", "in-flight:0"},
                                                  {"--runs", "none:first_ready:64MiB"},
                                                  {"--runs", "none", "--schedule", "immediate"},
                                                  {"--schedule", "first_ready", "--memory-budget", "64MiB"},
                                                  {"--repeat", "0"},
                                                  {"--lr", "inf"},
                                                  {"--workers", "0"},
                                                  {"--device", "cuda:9"},
                                                  {"--math", "bf15"},
                                                  {"--json", "/nonexistent/a.json"},
                                                  {"--plot", "/nonexistent/a.svg"},
                                                  {"--trace", file("trace.json")},
                                                  {"--trace", "/nonexistent/trace.json", "--runs", "none"},
                                                  {"--plot", "a.txt"},
                                                  {"--json", folder(), "--runs", "none"},
                                                  {"--trace", file("a.svg"), "--plot", file("a.svg"), "--runs", "none"},
                                                  {"--trace", file("a"), "--json", file("./a"), "--runs", "none"}};
  for (const std::vector<std::string>& arguments : all) {
    const Outcome outcome = run(arguments, 2);
    EXPECT_EQ(outcome.exit_status, 2) << arguments[0];
    EXPECT_THAT(outcome.output, AllOf(StartsWith("async_training: "), HasSubstr(arguments[0])));
  }
}

TEST_F(AsyncTraining, ADoubleDashIsBadInput) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--"}, {"--runs", "none", "--"}, {"--", "--runs", "none"}, {"--json", "--"}}) {
    EXPECT_EQ(run(arguments, 2).exit_status, 2);
  }
}

TEST_F(AsyncTraining, APipeIsRefusedAndADeviceIsNot) {
  ASSERT_EQ(mkfifo(file("pipe").c_str(), 0600), 0);
  const Outcome pipe = run({"--runs", "none", "--json", file("pipe")}, 2);
  EXPECT_EQ(pipe.exit_status, 2);
  EXPECT_THAT(pipe.output, HasSubstr("it is a pipe or another special file"));
  const Outcome device =
      run({"--runs", "none", "--json", "/dev/null", "--trace", "/dev/null", "--plot", file("picture.svg")});
  EXPECT_TRUE(device.good()) << device.what();
}

TEST_F(AsyncTraining, ExplainsAndTracesARun) {
  const Outcome outcome = run({"--runs", "none", "--json", file("data.json"), "--plot", file("picture.svg"), "--trace",
                               file("trace.json"), "--explain"});
  ASSERT_TRUE(outcome.good()) << outcome.what();
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("products"), HasSubstr("held back by admission"), HasSubstr("GFLOP/s"),
                                    HasSubstr("trace: " + file("trace.json"))));
  const Json run = json_in(file("data.json"))["runs"][0];
  std::int64_t spans = 0;
  const Json trace = json_in(file("trace.json"));
  for (const Json& event : trace["traceEvents"]) {
    const std::string category = event.value("cat", "");
    spans += category == "operation" || category == "at call" ? 1 : 0;
  }
  EXPECT_EQ(run["operations"], spans);
}

TEST_F(AsyncTraining, ADryRunTellsTheSerialPeakOfARealOne) {
  const Json run_data = data({"--runs", "none"})["runs"][0];
  const Outcome outcome = run({"--dry-run"});
  ASSERT_TRUE(outcome.good()) << outcome.what();
  const std::int64_t operations = run_data["operations"], peak = run_data["serial_peak_bytes"];
  EXPECT_THAT(outcome.output,
              StartsWith(fmt::format("{} operations; their serial peak is {} bytes, reached by [", operations, peak)));
  EXPECT_THAT(outcome.output, HasSubstr("queued at async_training.cpp:"));
}

TEST_F(AsyncTraining, HelpIsNoFailure) {
  const Outcome outcome = run({"--help"});
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("--memory-budget"), HasSubstr("--repeat")));
}

}  // namespace
}  // namespace asyncgrad::experiment
