#include "examples/support/gpt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "tests/experiment/bad_input.h"
#include "tests/support/temporary_folder.h"

namespace gpt {
namespace {

namespace ag = asyncgrad;
using asyncgrad::experiment::bad_input;
using testing::ElementsAre;
using testing::HasSubstr;

class Gpt : public ag::tests::WithFolder<> {};

TEST_F(Gpt, TheShippedTextIsWhole) {
  const text::Text text = text::read(text::default_path(), 128);
  EXPECT_EQ(text.indices.numel(), 999808);
  EXPECT_EQ(text.alphabet.size(), 62U);
}

TEST_F(Gpt, TextsBecomeNumbers) {
  const text::Text text = text::read(file_with("text", "abca\n"), 3);
  EXPECT_EQ(text.alphabet, "\nabc");
  EXPECT_THAT(text.indices.to_vector<std::int64_t>(), ElementsAre(1, 2, 3, 1, 0));
  EXPECT_THAT(bad_input([&] { text::read(file_with("text", "abc"), 3); }),
              HasSubstr("needs more than 3 characters, got 3"));
  EXPECT_THAT(bad_input([&] { text::read(file("none"), 3); }), HasSubstr("none: cannot be read"));
}

TEST_F(Gpt, BatchesArePiecesOfTheTextAndWhatComesNext) {
  const text::Text text = text::read(file_with("text", "abcdefghij"), 4);
  const Batch batch = random_batch(text, 50, 4);
  const std::vector<std::int64_t> indices = batch.indices.to_vector<std::int64_t>(),
                                  next = batch.next.to_vector<std::int64_t>();
  std::set<std::int64_t> starts;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    EXPECT_EQ(next[i], indices[i] + 1);
    if (i % 4 == 0) starts.insert(indices[i]);
    EXPECT_EQ(indices[i], indices[i / 4 * 4] + static_cast<std::int64_t>(i % 4));
  }
  EXPECT_GE(*starts.begin(), 0);
  EXPECT_LE(*starts.rbegin(), 5);
  EXPECT_GT(starts.size(), 3U);
}

TEST_F(Gpt, LearnsAText) {
  ag::manual_seed(1);
  const text::Text text = text::read(file_with("text", "abcdefghijklmnopqrstuvwxyz\nabcdefghijklmnopqrstuvwxyz\n"), 8);
  const Sizes sizes{.layers = 1, .features = 16, .heads = 2, .context = 8};
  const Model model(27, 0, sizes);
  ag::optim::AdamW adam(ag::nn::parameters(model), {.lr = 0.01});
  std::vector<double> losses;
  for (int step = 0; step < 100; ++step) {
    const Batch batch = random_batch(text, 8, 8);
    const ag::Tensor found = loss(model, batch.indices, batch.next);
    adam.zero_grad();
    found.backward();
    adam.step();
    losses.push_back(found.item());
  }
  EXPECT_NEAR(losses.front(), std::log(27.0), 0.3);
  EXPECT_LT(losses.back(), 0.5);
  EXPECT_THAT(write_text(model, text, 40, 0), HasSubstr("fghijklm"));
}

// A position's scores do not depend on what comes after it.
TEST_F(Gpt, SeesOnlyWhatIsBefore) {
  const Model model(5, 0, {.layers = 2, .features = 8, .heads = 2, .context = 4});
  const auto scores = [&](std::int64_t last) {
    return model(ag::Tensor::from(std::vector<std::int64_t>{1, 2, 3, last}, {1, 4})).slice(0, 1)[0].slice(0, 3);
  };
  EXPECT_EQ(scores(0).to_vector<float>(), scores(4).to_vector<float>());
}

}  // namespace
}  // namespace gpt
