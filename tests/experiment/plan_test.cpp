#include "asyncgrad/experiment/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "asyncgrad/core/math_mode.h"
#include "tests/experiment/bad_input.h"
#include "tests/support/message_of.h"

namespace asyncgrad::experiment {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

// Those of examples/async_training.cpp.
struct Chapter : Settings {
  std::vector<std::int64_t> hidden{2048, 512};
  double lr = 0.01;
};

struct Parsed : Plan {
  Chapter settings;
};

Parsed parsed(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "async_training");
  Parsed parsed;
  Options own;
  own("batch-size", parsed.settings.batch_size, "Number of samples in a batch");
  own("hidden", parsed.settings.hidden, "Widths of the two hidden layers");
  own("lr", parsed.settings.lr, "Learning rate");
  static_cast<Plan&>(parsed) =
      parse_plan("async_training", static_cast<int>(arguments.size()), arguments.data(), parsed.settings, own);
  return parsed;
}

std::string rejected(const std::vector<const char*>& arguments) {
  return bad_input([&] { parsed(arguments); });
}

TEST(Options, DefaultsAreTheChapters) {
  const Parsed options = parsed({});
  std::vector<std::string> names;
  for (const experiment::Run& run : options.runs) names.push_back(run.name);
  EXPECT_THAT(names, ElementsAre("immediate", "batch", "in-flight:1", "in-flight:2", "none", "none:unbounded",
                                 "none:first_ready"));
  const experiment::Run& run = options.runs.front();
  EXPECT_EQ(run.batches, 150);
  EXPECT_EQ(run.batch_size, 1024);
  EXPECT_THAT(options.settings.hidden, ElementsAre(2048, 512));
  EXPECT_EQ(options.settings.lr, 0.01);
  EXPECT_EQ(run.seed, 0U);
  EXPECT_EQ(run.device, asyncgrad::Device("cpu"));
  EXPECT_EQ(run.math, MathMode::float32);
  EXPECT_FALSE(options.repeat.has_value());
  EXPECT_EQ(options.json, "results/async_training.json");
  EXPECT_EQ(options.plot, "results/async_training.svg");
  EXPECT_TRUE(options.measured_run.empty());
}

TEST(Options, EveryRunHasWhatWasGiven) {
  const Parsed options =
      parsed({"--runs", "batch,none", "--batches", "4",      "--batch-size=16", "--hidden", "8,4",
              "--lr",   "0.5",        "--seed",    "7",      "--workers",       "3",        "--device",
              "cpu:0",  "--repeat",   "2",         "--json", "a.json",          "--plot",   "a.png"});
  ASSERT_EQ(options.runs.size(), 2U);
  for (const experiment::Run& run : options.runs) {
    EXPECT_EQ(run.batches, 4);
    EXPECT_EQ(run.batch_size, 16);
    EXPECT_THAT(run.own, ElementsAre(Pair("batch_size", OptionValue(std::int64_t{16})),
                                     Pair("hidden", OptionValue(std::vector<std::int64_t>{8, 4})),
                                     Pair("lr", OptionValue(0.5))));
    EXPECT_EQ(run.seed, 7U);
    EXPECT_EQ(run.workers, 3);
  }
  EXPECT_EQ(options.settings.batch_size, 16);
  EXPECT_THAT(options.settings.hidden, ElementsAre(8, 4));
  EXPECT_EQ(options.settings.lr, 0.5);
  EXPECT_EQ(options.repeat, 2);
  EXPECT_EQ(options.json, "a.json");
  EXPECT_EQ(options.plot, "a.png");
  EXPECT_FALSE(options.default_files);
}

TEST(Options, OfAnOptionGivenTwiceTheLastHolds) {
  EXPECT_EQ(parsed({"--batches", "4", "--batches", "5"}).runs.front().batches, 5);
}

TEST(Options, TheMathModeIsSet) {
  EXPECT_EQ(parsed({"--math", "bf16"}).runs.front().math, MathMode::bf16);
  EXPECT_EQ(asyncgrad::math_mode(), asyncgrad::MathMode::bf16);
  EXPECT_EQ(parsed({}).runs.front().math, MathMode::float32);
  EXPECT_EQ(asyncgrad::math_mode(), asyncgrad::MathMode::float32);
}

TEST(Options, OneRunOfOnesOwnReplacesTheList) {
  const Parsed options = parsed({"--barrier", "in-flight:2", "--memory-budget", "1MiB"});
  ASSERT_EQ(options.runs.size(), 1U);
  EXPECT_EQ(options.runs.front().name, "in-flight:2:1MiB");
}

TEST(Options, ACheckpointIsOfOneRun) {
  const Parsed options = parsed({"--runs", "none", "--batches", "9", "--checkpoint", "a", "--checkpoint-every", "2",
                                 "--stop-after", "5", "--resume", "a"});
  const experiment::Run& run = options.runs.front();
  EXPECT_EQ(run.checkpoint, "a");
  EXPECT_EQ(run.checkpoint_every, 2);
  EXPECT_EQ(run.end(), 5);
  EXPECT_EQ(run.resume, "a");
  EXPECT_EQ(parsed({"--batches", "9"}).runs.front().end(), 9);
  for (const char* option : {"--checkpoint", "--resume", "--trace"}) {
    EXPECT_THAT(rejected({option, "a"}), StartsWith(std::string(option) + ": 'a' "));
    EXPECT_THAT(rejected({"--runs", "none", "--repeat", "2", option, "a"}), HasSubstr("name it, as in --runs none"));
  }
  for (const char* option : {"--checkpoint", "--resume"}) {
    EXPECT_THAT(rejected({"--runs", "none", "--dry-run", option, "a"}), StartsWith("--dry-run cannot be combined"));
  }
  for (const char* option : {"--checkpoint-every", "--stop-after"}) {
    EXPECT_EQ(rejected({"--runs", "none", option, "2"}), std::string(option) + " needs a file: give --checkpoint");
    EXPECT_THAT(rejected({"--runs", "none", "--checkpoint", "a", option, "0"}), HasSubstr("is not a whole number"));
  }
  EXPECT_THAT(rejected({"--runs", "none", "--batches", "9", "--checkpoint", "a", "--stop-after", "10"}),
              StartsWith("--stop-after: '10' is not a whole number from 1 to 9"));
}

TEST(Options, MessagesNameTheOptionAndWhatItTakes) {
  for (const char* option : {"--barrier", "--schedule", "--memory-budget"}) {
    EXPECT_THAT(rejected({"--runs", "none", option, "none"}), StartsWith("--runs cannot be combined with --barrier"));
  }
  for (const char* option : {"--batches", "--batch-size", "--workers", "--repeat"}) {
    for (const char* value : {"0", "1.5", "many"}) {
      EXPECT_THAT(rejected({option, value}),
                  StartsWith(std::string(option) + ": '" + value + "' is not a whole number"));
    }
  }
  for (const char* value : {"8", "8,4,2", ""}) {
    EXPECT_THAT(rejected({"--hidden", value}), HasSubstr("is not 2 numbers, like 2048,512"));
  }
  EXPECT_THAT(rejected({"--hidden", "8,x"}), StartsWith("--hidden: 'x' is not a whole number"));
  EXPECT_THAT(rejected({"--hidden", "0,4"}), StartsWith("--hidden: '0' is not a whole number"));
  EXPECT_THAT(rejected({"--lr", "nan"}), StartsWith("--lr: 'nan' is not a finite number"));
  EXPECT_THAT(rejected({"--seed", "x"}), StartsWith("--seed: 'x' is not a whole number"));
  EXPECT_THAT(rejected({"--device", "tpu"}), StartsWith("--device: 'tpu' cannot be used"));
  EXPECT_EQ(rejected({"--math", "bf15"}), "--math: 'bf15' is not float32, bf16 or tf32");
  EXPECT_THAT(rejected({"--runs", "none,,batch"}), StartsWith("--runs: '' is not a run"));
  EXPECT_THAT(rejected({"--plot", "a.pdf"}), StartsWith("--plot: 'a.pdf' is not a file that ends in .svg or .png"));
  EXPECT_THAT(rejected({"--json", "a.svg", "--plot", "a.svg"}), StartsWith("--plot: 'a.svg' is the file of --json"));
  EXPECT_THAT(rejected({"--bogus"}), HasSubstr("--bogus"));
  EXPECT_THAT(rejected({"stray"}), HasSubstr("stray"));
  EXPECT_THAT(rejected({"--batches"}), HasSubstr("--batches"));
}

TEST(Options, HelpNamesWhatAUserMayGive) {
  const std::string help = parsed({"--help"}).help;
  for (const char* option : {"--runs", "--barrier", "--schedule", "--memory-budget", "--batches", "--batch-size",
                             "--hidden", "--lr", "--seed", "--workers", "--device", "--math", "--repeat", "--json",
                             "--plot", "--checkpoint", "--checkpoint-every", "--stop-after", "--resume"}) {
    EXPECT_THAT(help, HasSubstr(option));
  }
  EXPECT_THAT(help, testing::Not(HasSubstr(measured_run_option)));
  EXPECT_FALSE(help.ends_with("\n\n"));
}

TEST(Options, AProgramsOwnAreTwoNamesInTheResults) {
  Settings settings;
  double size = 0;
  Options own;
  own("batch-size", settings.batch_size, "Samples");
  own("batch_size", size, "Samples once more");
  const char* const program = "program";
  EXPECT_THAT(tests::message_of([&] { parse_plan("program", 1, &program, settings, own); }),
              HasSubstr("an option cannot be called batch_size"));
}

TEST(Options, ASwitchIsTurnedOnAndOff) {
  const auto parsed = [](const std::vector<const char*>& given, bool value) {
    std::vector<const char*> arguments{"program"};
    arguments.insert(arguments.end(), given.begin(), given.end());
    Settings settings;
    Options own;
    own("norm", value, "Normalises");
    const Plan plan = parse_plan("program", static_cast<int>(arguments.size()), arguments.data(), settings, own);
    return plan.help.empty() ? std::get<bool>(plan.runs.front().own.front().second) : throw BadInput(plan.help);
  };
  for (const bool before : {false, true}) {
    EXPECT_EQ(parsed({}, before), before);
    EXPECT_TRUE(parsed({"--norm"}, before));
    EXPECT_FALSE(parsed({"--no-norm"}, before));
    EXPECT_FALSE(parsed({"--norm", "--no-norm"}, before));
  }
  for (const char* value : {"--norm=false", "--norm=3", "--no-norm=3"}) {
    EXPECT_THAT(bad_input([&] { parsed({value}, true); }), HasSubstr("norm")) << value;
  }
  EXPECT_THAT(bad_input([&] { parsed({"--help"}, true); }), HasSubstr("Normalises. Default: true"));
}

TEST(Options, AProgramsOwnHaveNamesOfTheirOwn) {
  for (const char* taken : {"seed", "operations", "peak-live-bytes", "json", "first-loss"}) {
    Settings settings;
    Options own;
    own(taken, settings.batch_size, "Taken");
    const char* const program = "program";
    EXPECT_THAT(tests::message_of([&] { parse_plan("program", 1, &program, settings, own); }),
                StartsWith("[experiment] an option "))
        << taken;
  }
}

}  // namespace
}  // namespace asyncgrad::experiment
