#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "asyncgrad/asyncgrad.h"
#include "examples/support/digits_data.h"
#include "examples/support/digits_options.h"
#include "examples/support/parse.h"

namespace digits {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string temporary(const std::string& name) {
  return (std::filesystem::path(testing::TempDir()) / ("asyncgrad_digits_" + name)).string();
}

std::string file_with(const std::string& name, const std::string& text) {
  const std::string path = temporary(name);
  std::ofstream(path) << text;
  return path;
}

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

template <class Call>
std::string bad_input(Call&& call) {
  try {
    call();
  } catch (const support::BadInput& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(DigitsData, TheShippedFileIsWholeAndAFifthIsHeldOut) {
  const Split data = load(default_path());
  EXPECT_EQ(data.train.images.shape(), asyncgrad::Shape(1438, 64));
  EXPECT_EQ(data.held_out.images.shape(), asyncgrad::Shape(359, 64));
  std::vector<int> per_class(classes);
  double ink = 0;
  for (const Data& part : {data.train, data.held_out}) {
    for (const std::int64_t label : part.labels.to_vector<std::int64_t>())
      ++per_class.at(static_cast<std::size_t>(label));
    for (const float pixel : part.images.to_vector<float>()) ink += pixel;
  }
  EXPECT_THAT(per_class, testing::ElementsAre(178, 182, 177, 183, 181, 182, 181, 179, 174, 180));  // as published
  EXPECT_EQ(ink * darkest, 561718);
}

TEST(DigitsData, PixelsAreScaledAndStayWithTheirDigit) {
  const Split data = load(file_with("small.csv", lines(10)));
  EXPECT_EQ(data.train.size(), 8);
  EXPECT_EQ(data.held_out.size(), 2);
  std::vector<std::int64_t> seen;
  for (const Data& part : {data.train, data.held_out}) {
    const std::vector<float> images = part.images.to_vector<float>();
    const std::vector<std::int64_t> labels = part.labels.to_vector<std::int64_t>();
    for (std::size_t i = 0; i < labels.size(); ++i) {
      for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
        EXPECT_EQ(images[i * pixels + pixel], static_cast<float>(labels[i]) / darkest);
      }
    }
    seen.insert(seen.end(), labels.begin(), labels.end());
  }
  EXPECT_THAT(seen, testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST(DigitsData, LinesMayEndAsOnOtherSystems) {
  std::string text;
  for (const char c : lines(5)) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(load(file_with("crlf.csv", text)).train.size(), 4);
}

TEST(DigitsData, WhatIsWrongIsNamedWithItsLine) {
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
      {"binary.csv", std::string("\0\1\2\377", 4), ":1: needs 64 pixels and a digit, 65 numbers, got 1"},
      {"empty.csv", "", ": needs five images at least, got 0"},
      {"few.csv", lines(4), ": needs five images at least, got 4"},
  };
  for (const Case& row : cases) {
    const std::string path = file_with(row.name, row.text);
    EXPECT_EQ(bad_input([&] { load(path); }), path + row.message);
  }
}

TEST(DigitsData, AFileThatCannotBeReadIsNamed) {
  const std::string missing = temporary("missing.csv");
  EXPECT_THAT(bad_input([&] { load(missing); }), StartsWith(missing + ": cannot be opened: No such file"));
  EXPECT_THAT(bad_input([] { load(testing::TempDir()); }), StartsWith(testing::TempDir() + ": "));
}

TEST(DigitsData, ShufflingIsAPermutationThatTheSeedDecides) {
  std::mt19937_64 one(1), again(1), other(2);
  const auto order = shuffled(50, one).to_vector<std::int64_t>();
  EXPECT_EQ(order, shuffled(50, again).to_vector<std::int64_t>());
  EXPECT_NE(order, shuffled(50, other).to_vector<std::int64_t>());
  EXPECT_NE(order, shuffled(50, one).to_vector<std::int64_t>());
  auto sorted = order;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) EXPECT_EQ(sorted[i], static_cast<std::int64_t>(i));
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

int status_of(const std::string& arguments) {
  const int status = std::system((std::string(DIGITS_PROGRAM) + " " + arguments + " > /dev/null 2>&1").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Digits, BadInputEndsWithStatusTwo) {
  EXPECT_EQ(status_of("--help"), 0);
  EXPECT_EQ(status_of("--epochs none"), 2);
  EXPECT_EQ(status_of("--data " + temporary("missing.csv")), 2);
  EXPECT_EQ(status_of("--data " + file_with("corrupt.csv", "1,2,3\n")), 2);
}

TEST(Digits, ReadsNinetySevenInAHundredHeldOutDigitsWithTheSameBitsEveryTime) {
  const std::string one = temporary("one.json"), two = temporary("two.json");
  ASSERT_EQ(status_of("--json " + one), 0);
  ASSERT_EQ(status_of("--json " + two), 0);
  EXPECT_EQ(contents(one), contents(two));
  const nlohmann::json results = nlohmann::json::parse(contents(one));
  EXPECT_EQ(results["format"], 1);
  EXPECT_EQ(results["held_out_images"], 359);
  EXPECT_GE(results["epochs"].back()["accuracy"], 0.97);
  EXPECT_LT(results["epochs"].back()["loss"], results["epochs"].front()["loss"]);
}

TEST(Digits, InBf16ReadsAsManyWithinHalfAPoint) {
  const std::string file = temporary("math.json");
  const auto results = [&](const std::string& math) {
    EXPECT_EQ(status_of("--math " + math + " --json " + file), 0);
    return nlohmann::json::parse(contents(file));
  };
  const nlohmann::json float32 = results("float32"), bf16 = results("bf16");
  EXPECT_EQ(bf16["math"], "bf16");
  EXPECT_NE(bf16["epochs"], float32["epochs"]);
  EXPECT_NEAR(bf16["epochs"].back()["accuracy"], float32["epochs"].back()["accuracy"], 0.005);
}

}  // namespace
}  // namespace digits
