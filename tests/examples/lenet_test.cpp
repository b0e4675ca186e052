#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "examples/support/digits_data.h"
#include "examples/support/process.h"
#include "examples/support/results.h"
#include "tests/examples/files.h"
#include "tests/support/temporary_folder.h"

namespace digits {
namespace {

namespace ag = asyncgrad;
using testing::HasSubstr;

Data numbered(std::int64_t count) {
  return {ag::arange(0, count * pixels).to(ag::float32).reshape({count, pixels}),
          ag::arange(0, count, 1, {.dtype = ag::int64})};
}

TEST(EnlargedDigits, LieBetweenTheirPixels) {
  const ag::Tensor image = enlarged({numbered(1), numbered(2)}, 28).train.images;
  EXPECT_EQ(image.shape(), ag::Shape(1, 1, 28, 28));
  const std::vector<float> found = image.to_vector<float>();
  for (std::size_t i = 0; i < 28; ++i) {
    for (std::size_t j = 0; j < 28; ++j) {
      const auto place = [](std::size_t k) { return std::clamp((static_cast<double>(k) + 0.5) / 3.5 - 0.5, 0.0, 7.0); };
      EXPECT_NEAR(found[i * 28 + j], 8 * place(i) + place(j), 1e-4);
    }
  }
}

TEST(DigitBatches, HaveEveryImageOnceInEachOrder) {
  std::mt19937_64 random(1);
  Batches batches(numbered(6), 2, random);
  for (int pass = 0; pass < 3; ++pass) {
    std::set<std::int64_t> seen;
    for (int batch = 0; batch < 3; ++batch) {
      const Data data = batches.next();
      const std::vector<std::int64_t> labels = data.labels.to_vector<std::int64_t>();
      seen.insert(labels.begin(), labels.end());
      EXPECT_EQ(data.images.to_vector<float>()[pixels], static_cast<float>(labels[1] * pixels));
    }
    EXPECT_EQ(seen.size(), 6U);
  }
  EXPECT_EQ(Batches(numbered(6), 100, random).next().size(), 6);
}

TEST(LeNet, EveryRunLearnsTheSame) {
  const ag::tests::TemporaryFolder folder;
  const support::Outcome outcome =
      support::run_process({.arguments = {LENET_PROGRAM, "--batches", "40", "--batch-size", "16", "--runs",
                                          "batch,in-flight:1,none,none:unbounded,none:first_ready", "--json",
                                          folder.file("data.json"), "--plot", folder.file("picture.svg")},
                            .captured = 1});
  ASSERT_TRUE(outcome.good()) << outcome.what();
  EXPECT_THAT(outcome.output, HasSubstr("of the digits held out"));
  std::set<std::string> hashes;
  const support::Json data = support::json_in(folder.file("data.json"));
  ASSERT_EQ(data["runs"].size(), 5U);
  for (const support::Json& run : data["runs"]) {
    hashes.insert(run["parameters_hash"].get<std::string>());
    EXPECT_LT(run["last_loss"].get<double>(), 0.5 * run["first_loss"].get<double>());
  }
  EXPECT_EQ(hashes.size(), 1U);
}

}  // namespace
}  // namespace digits
