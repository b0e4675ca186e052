#include "asyncgrad/experiment/training_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/experiment/process.h"
#include "tests/experiment/files.h"
#include "tests/support/temporary_folder.h"

namespace asyncgrad::experiment {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

using Arguments = std::vector<std::string>;

class TrainingFiles : public tests::WithFolder<> {
 protected:
  Outcome run(Arguments arguments, int captured = 1, const char* program = KEPT_TRAINING) const {
    arguments.insert(arguments.begin(), {program, "--json", file("data.json"), "--plot", file("picture.svg")});
    return run_process({.arguments = std::move(arguments), .captured = captured});
  }
  // The results of a run, which must succeed.
  Json result(Arguments arguments) const {
    const Outcome outcome = run(std::move(arguments));
    EXPECT_TRUE(outcome.good()) << outcome.what();
    return json_in(file("data.json"))["runs"][0];
  }
  // What a program says that ends with this status.
  std::string refusal(const Arguments& arguments, int status, const char* program = KEPT_TRAINING) const {
    const Outcome outcome = run(arguments, 2, program);
    EXPECT_EQ(outcome.exit_status, status) << outcome.output;
    return outcome.output;
  }
};

void expect_same(const Json& run, const Json& other) {
  EXPECT_EQ(run["parameters_hash"], other["parameters_hash"]);
  EXPECT_EQ(run["last_loss"], other["last_loss"]);
  EXPECT_EQ(run["batches"], other["batches"]);
}

TEST_F(TrainingFiles, ATrainingGoesOnWithTheSameBits) {
  const Json straight = result({"--runs", "none"});
  const Json begun = result({"--runs", "none:first_ready", "--checkpoint", file("kept"), "--stop-after", "4"});
  EXPECT_EQ(begun["batches"], 4);
  EXPECT_EQ(begun["first_loss"], straight["first_loss"]);
  const Json resumed = result({"--runs", "batch", "--resume", file("kept"), "--workers", "1"});
  expect_same(resumed, straight);
  EXPECT_EQ(resumed["resumed_after"], 4);
  EXPECT_NE(resumed["first_loss"], straight["first_loss"]);
  for (const Json& whole : {straight, begun}) EXPECT_FALSE(whole.contains("resumed_after"));
}

TEST_F(TrainingFiles, ACheckpointChangesNoBits) {
  const Json straight = result({"--runs", "none"});
  for (const char* name : {"immediate", "batch", "none:first_ready"}) {
    expect_same(result({"--runs", name, "--checkpoint", file("kept"), "--checkpoint-every", "1"}), straight);
  }
}

TEST_F(TrainingFiles, AFileMayBeReplacedByItsOwnTraining) {
  const Json straight = result({"--runs", "none"});
  const Arguments arguments{"--runs", "none", "--checkpoint", file("kept")};
  for (const char* end : {"3", "6", "10"}) {
    Arguments part = arguments;
    part.insert(part.end(), {"--stop-after", end});
    if (std::filesystem::exists(file("kept"))) part.insert(part.end(), {"--resume", file("kept")});
    const Json run = result(part);
    if (std::string(end) == "10") expect_same(run, straight);
  }
}

TEST_F(TrainingFiles, ATrainingThatIsKilledHasItsLastCheckpoint) {
  const Outcome killed = run({"--runs", "in-flight:1", "--checkpoint", file("kept"), "--checkpoint-every", "3"}, 2);
  EXPECT_EQ(killed.exit_status, 1);
  EXPECT_THAT(killed.output, HasSubstr("run in-flight:1 failed: its process was ended by signal 9 (Killed)"));
  const Json resumed = result({"--runs", "none", "--resume", file("kept")});
  EXPECT_EQ(resumed["resumed_after"], 6);
  expect_same(resumed, result({"--runs", "none"}));
}

TEST_F(TrainingFiles, MoreBatchesGoOnLonger) {
  result({"--runs", "none", "--checkpoint", file("kept")});
  const Json longer = result({"--runs", "none", "--resume", file("kept"), "--batches", "12"});
  EXPECT_EQ(longer["batches"], 12);
  EXPECT_EQ(longer["resumed_after"], 10);
}

TEST_F(TrainingFiles, BadInputIsRefusedBeforeTheTraining) {
  result({"--runs", "none", "--checkpoint", file("kept"), "--stop-after", "4"});
  write(file("text"), "no checkpoint at all");
  Tensor tensor = ones({2});
  Checkpoint().add("tensor", tensor).save(file("other"));
  const std::string kept = content(file("kept"));
  const std::vector<std::pair<Arguments, std::string>> bad{
      {{"--resume", file("none")}, "--resume: cannot read '" + file("none") + "': No such file or directory"},
      {{"--resume", file("")}, "--resume: "},
      {{"--resume", file("text")}, "--resume: '" + file("text") + "' is no safetensors file"},
      {{"--resume", file("other")}, "--resume: '" + file("other") + "' is no checkpoint of a run"},
      {{"--resume", file("kept"), "--seed", "7"}, "was trained with the seed \"0\", and this run has \"7\""},
      {{"--resume", file("kept"), "--batch-size", "5"}, "was trained with the batch_size \"4\""},
      {{"--resume", file("kept"), "--math", "bf16"}, "was trained with the math \"float32\""},
      {{"--resume", file("kept"), "--batches", "4"}, "has 4 batches, and --batches, which is 4, counts from"},
      {{"--resume", file("kept"), "--checkpoint", file("kept"), "--stop-after", "3"},
       "has 4 batches, and --stop-after, which is 3, counts from"},
      {{"--checkpoint", file("no_such_folder/kept")},
       "--checkpoint: cannot write '" + file("no_such_folder/kept") + "': No such file"},
      {{"--checkpoint", file("data.json")}, "--checkpoint: '" + file("data.json") + "' is the file of --json, too"},
      {{"--resume", file("data.json")}, "--resume: '" + file("data.json") + "' is the file of --json, too"},
      {{"--checkpoint", ""}, "--checkpoint: '' is not the name of a file"}};
  for (const auto& [arguments, message] : bad) {
    Arguments all = arguments;
    all.insert(all.end(), {"--runs", "none"});
    EXPECT_THAT(refusal(all, 2), AllOf(StartsWith("kept_training: "), HasSubstr(message)));
  }
  EXPECT_EQ(content(file("kept")), kept);
  EXPECT_THAT(refusal({"--runs", "none", "--resume", file("kept")}, 2, OWN_TRAINING),
              HasSubstr("is of a program with other options"));
}

// Its header is right, and it has nothing of the training.
TEST_F(TrainingFiles, AnotherNetworksFileIsRefusedWithAListOfWhatDoesNotFit) {
  struct Settings {
    std::string seed = "0", math = "float32", device = "cpu", batch_size = "4", lacks = "nothing";
    void members(nn::Members& m) {
      m("seed", seed);
      m("math", math);
      m("device", device);
      m("batch_size", batch_size);
      m("lacks", lacks);
    }
  } settings;
  std::int64_t batches = 4;
  nn::Dense net(3, 2);
  Checkpoint().add("batches", batches).add("settings", settings).add("training", net).save(file("kept"));
  EXPECT_THAT(refusal({"--runs", "none", "--resume", file("kept")}, 1),
              AllOf(HasSubstr("does not fit"), HasSubstr("\"training.weight\", F32 (3, 2), is left over"),
                    HasSubstr("\"training.net.0.weight\", F32 (3, 8), is missing in the file"),
                    HasSubstr("\"random\" is missing in the file"), HasSubstr("No run was measured")));
}

TEST_F(TrainingFiles, AListThatLacksSomethingIsAnErrorBeforeTheTraining) {
  for (const auto& [lacks, what] :
       {std::pair("optimiser", "what the updates depend on"), std::pair("schedule", "what the updates depend on"),
        std::pair("place", "what the loss depends on")}) {
    EXPECT_THAT(refusal({"--runs", "none", "--checkpoint", file("kept"), "--lacks", lacks}, 1),
                HasSubstr(std::string("`members` of the training lacks ") + what));
    EXPECT_FALSE(std::filesystem::exists(file("kept")));
  }
  EXPECT_THAT(refusal({"--runs", "none", "--checkpoint", file("kept")}, 1, OWN_TRAINING),
              HasSubstr("a checkpoint keeps what the training lists"));
}

TEST_F(TrainingFiles, AFileThatCannotBeWrittenCostsNoFigures) {
  for (const char* every : {"2", "100"}) {
    EXPECT_THAT(
        refusal({"--runs", "none", "--checkpoint", "/dev/full", "--checkpoint-every", every}, 1),
        AllOf(HasSubstr("'/dev/full': No space left on device"), HasSubstr("run none failed after it was measured")));
    EXPECT_EQ(json_in(file("data.json"))["runs"][0]["batches"], 10);
  }
}

TEST_F(TrainingFiles, ATraceThatCannotBeWrittenCostsNoCheckpoint) {
  refusal({"--runs", "none", "--checkpoint", file("kept"), "--trace", "/dev/full", "--stop-after", "4"}, 1);
  expect_same(result({"--runs", "none", "--resume", file("kept")}), result({"--runs", "none"}));
}

}  // namespace
}  // namespace asyncgrad::experiment
