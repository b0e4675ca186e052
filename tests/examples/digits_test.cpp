#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/experiment/process.h"
#include "examples/support/digits_data.h"
#include "examples/support/digits_options.h"
#include "tests/experiment/bad_input.h"
#include "tests/experiment/files.h"
#include "tests/experiment/shell.h"
#include "tests/support/temporary_folder.h"

namespace digits {
namespace {

namespace experiment = asyncgrad::experiment;

using testing::HasSubstr;
using testing::StartsWith;

// A line of 64 equal pixels and a digit.
std::string line(const std::string& pixel, const std::string& digit) {
  std::string text;
  for (int i = 0; i < pixels; ++i) text += pixel + ",";
  return text + digit + "\n";
}

std::string lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += line(std::to_string(i % 17), std::to_string(i % 10));
  return text;
}

using asyncgrad::experiment::bad_input;
using asyncgrad::experiment::content;

class DigitsData : public asyncgrad::tests::WithFolder<> {};
class Digits : public asyncgrad::tests::WithFolder<> {};

TEST_F(DigitsData, TheShippedFileIsWholeAndAFifthIsHeldOut) {
  const Split data = load(default_path());
  EXPECT_EQ(data.train.size(), 1438U);
  EXPECT_EQ(data.held_out.size(), 359U);
  std::vector<int> per_class(classes);
  double ink = 0;
  for (const Data& part : {data.train, data.held_out}) {
    for (const auto& [image, label] : part) {
      ++per_class.at(static_cast<std::size_t>(label));
      for (const float pixel : image) ink += pixel;
    }
  }
  EXPECT_THAT(per_class, testing::ElementsAre(178, 182, 177, 183, 181, 182, 181, 179, 174, 180));  // as published
  EXPECT_EQ(ink * darkest, 561718);
}

TEST_F(DigitsData, PixelsAreScaledAndStayWithTheirDigit) {
  const Split data = load(file_with("small.csv", lines(10)));
  EXPECT_EQ(data.train.size(), 8U);
  EXPECT_EQ(data.held_out.size(), 2U);
  std::vector<std::int64_t> seen;
  for (const Data& part : {data.train, data.held_out}) {
    const Tensors tensors = tensors_of(part);
    const std::vector<float> images = tensors.images.to_vector<float>();
    const std::vector<std::int64_t> labels = tensors.labels.to_vector<std::int64_t>();
    for (std::size_t i = 0; i < labels.size(); ++i) {
      for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
        EXPECT_EQ(images[i * pixels + pixel], static_cast<float>(labels[i]) / darkest);
      }
    }
    seen.insert(seen.end(), labels.begin(), labels.end());
  }
  EXPECT_THAT(seen, testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST_F(DigitsData, LinesMayEndAsOnOtherSystems) {
  std::string text;
  for (const char c : lines(5)) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(load(file_with("crlf.csv", text)).train.size(), 4U);
}

TEST_F(DigitsData, WhatIsWrongIsNamedWithItsLine) {
  struct Case {
    std::string name, text, message;
  };
  const Case cases[] = {
      {"large.csv", lines(6) + line("17", "3"), ":7: number 1 of the line is not an integer of 0 to 16: \"17\""},
      {"negative.csv", line("-1", "3") + lines(6), ":1: number 1 of the line is not an integer of 0 to 16: \"-1\""},
      {"word.csv", lines(6) + line("3", "x"), ":7: number 65 of the line is not an integer of 0 to 9: \"x\""},
      {"fraction.csv", lines(2) + line("1.5", "1"), ":3: number 1 of the line is not an integer of 0 to 16: \"1.5\""},
      {"gap.csv", lines(2) + line("", "1"), ":3: number 1 of the line is not an integer of 0 to 16: \"\""},
      {"no_digit.csv", lines(2) + line("3", ""), ":3: number 65 of the line is not an integer of 0 to 9: \"\""},
      {"digit.csv", lines(2) + line("3", "10"), ":3: number 65 of the line is not an integer of 0 to 9: \"10\""},
      {"short.csv", lines(6) + "1,2,3\n", ":7: needs 64 pixels and a digit, 65 numbers, got 3"},
      {"blank.csv", lines(6) + "\n" + lines(1), ":7: needs 64 pixels and a digit, 65 numbers, got 1"},
      {"long.csv", line("3", "1,2"), ":1: needs 64 pixels and a digit, 65 numbers, got 66"},
      {"zero.csv", line("3", std::string("1\0", 2)), ":1: number 65 of the line is not an integer of 0 to 9: \"1"},
      {"endless.csv", lines(5) + std::string(1 << 20, '3'), ":6: is longer than 1023 characters"},
      {"binary.csv", std::string("\0\1\2\377", 4), ":1: needs 64 pixels and a digit, 65 numbers, got 1"},
      {"empty.csv", "", ": needs at least five images, got 0"},
      {"few.csv", lines(4), ": needs at least five images, got 4"},
  };
  for (const Case& row : cases) {
    const std::string path = file_with(row.name, row.text);
    EXPECT_EQ(bad_input([&] { load(path); }), path + row.message);
  }
}

TEST_F(DigitsData, AFileThatCannotBeReadIsNamed) {
  const std::string missing = file("missing.csv");
  EXPECT_THAT(bad_input([&] { load(missing); }), StartsWith(missing + ": cannot be opened: No such file"));
  EXPECT_THAT(bad_input([] { load(testing::TempDir()); }), StartsWith(testing::TempDir() + ": "));
}

TEST(DigitsImages, LieBetweenTheirPixelsWhenEnlarged) {
  const asyncgrad::Tensor image =
      enlarged(asyncgrad::arange(0, pixels).to(asyncgrad::float32).reshape({1, pixels}), 28);
  EXPECT_EQ(image.shape(), asyncgrad::Shape(1, 1, 28, 28));
  const std::vector<float> found = image.to_vector<float>();
  for (std::size_t i = 0; i < 28; ++i) {
    for (std::size_t j = 0; j < 28; ++j) {
      const auto place = [](std::size_t k) { return std::clamp((static_cast<double>(k) + 0.5) / 3.5 - 0.5, 0.0, 7.0); };
      EXPECT_NEAR(found[i * 28 + j], 8 * place(i) + place(j), 1e-4);
    }
  }
}

TEST(DigitsImages, ComeInBatchesEpochAfterEpoch) {
  Data data(5);
  for (std::size_t i = 0; i < data.size(); ++i) data[i].second = static_cast<std::int64_t>(i);
  Batches batches(data, 2, 1);
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::int64_t> labels;
    for (int batch = 0; batch < 2; ++batch) {
      const Tensors tensors = batches.next();
      EXPECT_EQ(tensors.images.shape(), asyncgrad::Shape(2, pixels));
      for (const std::int64_t label : tensors.labels.to_vector<std::int64_t>()) labels.push_back(label);
    }
    std::ranges::sort(labels);
    EXPECT_EQ(std::ranges::adjacent_find(labels), labels.end()) << "an image comes once in an epoch";
  }
  EXPECT_EQ(Batches(data, 8, 1).next().labels.size(0), 5);
}

Options parsed(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "digits");
  return parse(static_cast<int>(arguments.size()), arguments.data());
}

TEST(DigitsOptions, AreRead) {
  const Options options =
      parsed({"--epochs", "3", "--batch-size", "7", "--lr", "0.5", "--seed", "9", "--data", "a.csv"});
  EXPECT_EQ(options.epochs, 3);
  EXPECT_EQ(options.batch_size, 7);
  EXPECT_EQ(options.lr, 0.5);
  EXPECT_EQ(options.seed, 9u);
  EXPECT_EQ(options.data, "a.csv");
  EXPECT_EQ(options.math, "float32");
  EXPECT_EQ(parsed({}).data, default_path());
  EXPECT_THAT(parsed({"--help"}).help, HasSubstr("--batch-size"));
}

TEST(DigitsOptions, BadOnesAreNamed) {
  EXPECT_THAT(bad_input([] { parsed({"--epochs", "0"}); }), StartsWith("--epochs: '0' is not"));
  EXPECT_THAT(bad_input([] { parsed({"--batch-size", "many"}); }), StartsWith("--batch-size: 'many' is not"));
  EXPECT_THAT(bad_input([] { parsed({"--lr", "nan"}); }), StartsWith("--lr: 'nan' is not"));
  EXPECT_THAT(bad_input([] { parsed({"--seed", "-1"}); }), StartsWith("--seed: '-1' is not"));
  EXPECT_THAT(bad_input([] { parsed({"--device", "toaster"}); }), StartsWith("--device: 'toaster' cannot be used"));
  EXPECT_THAT(bad_input([] { parsed({"--math", "half"}); }), StartsWith("--math: 'half' is not"));
  EXPECT_THAT(bad_input([] { parsed({"--json", "/no/such/folder/a.json"}); }), HasSubstr("/no/such/folder/a.json"));
  EXPECT_THAT(bad_input([] { parsed({"--speed", "1"}); }), HasSubstr("--speed"));
  EXPECT_THAT(bad_input([] { parsed({"--epochs"}); }), HasSubstr("--epochs"));
}

// --- The program itself ---

experiment::Outcome ended(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), DIGITS_PROGRAM);
  return experiment::run_process({.arguments = std::move(arguments)});
}

TEST_F(Digits, BadInputEndsWithStatusTwo) {
  EXPECT_EQ(ended({"--help"}).exit_status, 0);
  EXPECT_EQ(ended({"--epochs", "none"}).exit_status, 2);
  EXPECT_EQ(ended({"--data", file("missing.csv")}).exit_status, 2);
  EXPECT_EQ(ended({"--data", file_with("corrupt.csv", "1,2,3\n")}).exit_status, 2);
}

TEST_F(Digits, ImagesAreNotOverwrittenByResults) {
  const std::string images = file_with("images.csv", lines(10));
  std::filesystem::create_symlink(images, file("results.json"));
  EXPECT_EQ(ended({"--data", images, "--json", file("results.json")}).exit_status, 2);
  EXPECT_EQ(content(images), lines(10));
}

TEST_F(Digits, ResultsAreSavedThoughOutputIsLost) {
  const std::string images = file_with("images.csv", lines(10));
  const experiment::Outcome outcome = experiment::run_in_shell(
      {DIGITS_PROGRAM, "--data", images, "--epochs", "500", "--json", file("results.json")}, ">/dev/full");
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_EQ(outcome.output, "digits: standard output could not be written: No space left on device\n");
  EXPECT_EQ(experiment::json_in(file("results.json")).at("epochs").size(), 500U);
}

TEST_F(Digits, ReadsNinetySevenInAHundredHeldOutDigitsWithTheSameBitsEveryTime) {
  const std::string one = file("one.json"), two = file("two.json");
  ASSERT_TRUE(ended({"--json", one}).good());
  ASSERT_TRUE(ended({"--json", two}).good());
  EXPECT_EQ(content(one), content(two));
  const experiment::Json results = experiment::json_in(one);
  EXPECT_EQ(results["format"], 1);
  EXPECT_EQ(results["held_out_images"], 359);
  EXPECT_GE(results["epochs"].back()["accuracy"], 0.97);
  EXPECT_LT(results["epochs"].back()["loss"], results["epochs"].front()["loss"]);
}

TEST_F(Digits, InBf16ReadsAsManyWithinHalfAPoint) {
  const std::string results_file = file("math.json");
  const auto results = [&](const std::string& math) {
    EXPECT_TRUE(ended({"--math", math, "--json", results_file}).good());
    return experiment::json_in(results_file);
  };
  const experiment::Json float32 = results("float32"), bf16 = results("bf16");
  EXPECT_EQ(bf16["math"], "bf16");
  EXPECT_NE(bf16["epochs"], float32["epochs"]);
  EXPECT_NEAR(bf16["epochs"].back()["accuracy"], float32["epochs"].back()["accuracy"], 0.005);
}

}  // namespace
}  // namespace digits
