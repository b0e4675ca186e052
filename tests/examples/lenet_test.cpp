#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "asyncgrad/experiment/process.h"
#include "examples/support/digits_data.h"
#include "tests/experiment/files.h"
#include "tests/support/temporary_folder.h"

namespace digits {
namespace {

namespace experiment = asyncgrad::experiment;

namespace ag = asyncgrad;
using testing::HasSubstr;

TEST(EnlargedDigits, LieBetweenTheirPixels) {
  const ag::Tensor image = enlarged(ag::arange(0, pixels).to(ag::float32).reshape({1, pixels}), 28);
  EXPECT_EQ(image.shape(), ag::Shape(1, 1, 28, 28));
  const std::vector<float> found = image.to_vector<float>();
  for (std::size_t i = 0; i < 28; ++i) {
    for (std::size_t j = 0; j < 28; ++j) {
      const auto place = [](std::size_t k) { return std::clamp((static_cast<double>(k) + 0.5) / 3.5 - 0.5, 0.0, 7.0); };
      EXPECT_NEAR(found[i * 28 + j], 8 * place(i) + place(j), 1e-4);
    }
  }
}

TEST(LeNet, EveryRunLearnsTheSame) {
  const ag::tests::TemporaryFolder folder;
  const experiment::Outcome outcome =
      experiment::run_process({.arguments = {LENET_PROGRAM, "--batches", "40", "--batch-size", "16", "--runs",
                                             "batch,in-flight:1,none,none:unbounded,none:first_ready", "--json",
                                             folder.file("data.json"), "--plot", folder.file("picture.svg")},
                               .captured = 1});
  ASSERT_TRUE(outcome.good()) << outcome.what();
  EXPECT_THAT(outcome.output, HasSubstr("of the digits held out"));
  std::set<std::string> hashes;
  const experiment::Json data = experiment::json_in(folder.file("data.json"));
  ASSERT_EQ(data["runs"].size(), 5U);
  for (const experiment::Json& run : data["runs"]) {
    hashes.insert(run["parameters_hash"].get<std::string>());
    EXPECT_LT(run["last_loss"].get<double>(), 0.5 * run["first_loss"].get<double>());
  }
  EXPECT_EQ(hashes.size(), 1U);
}

}  // namespace
}  // namespace digits
