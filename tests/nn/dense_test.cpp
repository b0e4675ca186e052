#include "asyncgrad/nn/dense.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"

namespace asyncgrad::nn {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

TEST(Dense, ComputesTheActivationOfTheAffineMap) {
  Dense dense(2, 3, relu);
  dense.weight = Tensor::from({1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}, {2, 3});
  dense.bias = Tensor::from({-10.0f, 0.5f, 0.0f}, {3});
  const Tensor x = Tensor::from({1.0f, 1.0f, 2.0f, -1.0f}, {2, 2});
  EXPECT_THAT(dense(x).to_vector<float>(), ElementsAre(0, 7.5, 9, 0, 0, 0));  // relu of -5 7.5 9, -12 -0.5 0
  dense.activation = nullptr;
  EXPECT_THAT(dense(x).to_vector<float>(), ElementsAre(-5, 7.5, 9, -12, -0.5, 0));
  dense.activation = square;
  EXPECT_THAT(dense(x).to_vector<float>(), ElementsAre(25, 56.25, 81, 144, 0.25, 0));
  dense.activation = nullptr;
  dense.bias = Tensor();
  EXPECT_THAT(dense(x).to_vector<float>(), ElementsAre(5, 7, 9, -2, -1, 0));
}

TEST(Dense, BeginsWithXavierAndZeros) {
  manual_seed(3);
  const Dense dense(4, 5);
  EXPECT_THAT(dense.bias.to_vector<float>(), Each(0));
  EXPECT_TRUE(dense.weight.requires_grad() && dense.bias.requires_grad());
  manual_seed(3);
  EXPECT_EQ(dense.weight.to_vector<float>(), xavier_uniform({4, 5}).to_vector<float>());
}

TEST(Dense, OptionsAreFollowed) {
  Generator generator(9), again(9);
  const Dense dense(4, 5, nullptr,
                    {.bias = false, .initialiser = he_normal, .dtype = float64, .generator = &generator});
  EXPECT_FALSE(dense.bias.defined());
  EXPECT_EQ(parameters(dense).size(), 1u);
  EXPECT_EQ(dense.weight.to_vector<double>(),
            he_normal({4, 5}, {.dtype = float64, .generator = &again}).to_vector<double>());

  const Initialiser tenths = [](const Shape& shape, RandomOptions, Location) { return constant(shape, 0.1); };
  EXPECT_THAT(Dense(2, 2, nullptr, {.initialiser = tenths}).weight.to_vector<float>(), Each(0.1f));
}

TEST(Dense, TakesOptionsWithoutAnActivation) {
  const Dense layer(3, 2, {.bias = false, .dtype = float64});
  EXPECT_EQ(layer.weight.dtype(), float64);
  EXPECT_FALSE(layer.bias.defined());
  EXPECT_FALSE(layer.activation);
}

TEST(Dense, TakesRowsOfAnyShape) {
  const Dense dense(2, 3, tanh);
  const Tensor x = randn({5, 4, 2});
  EXPECT_EQ(dense(x).shape(), Shape(5, 4, 3));
  EXPECT_EQ(dense(x).to_vector<float>(), dense(x.reshape({20, 2})).to_vector<float>());
  EXPECT_EQ(dense(x[1][2]).shape(), Shape(3));
  EXPECT_EQ(dense(zeros({0, 4, 2})).shape(), Shape(0, 4, 3));
}

TEST(Dense, WrongSizesThrow) {
  EXPECT_THAT(message_of([] { Dense(0, 3); }), HasSubstr("[Dense] in_features must be at least 1, got 0"));
  EXPECT_THAT(message_of([] { Dense(2, -3); }), HasSubstr("[Dense] out_features must be at least 1, got -3"));
  EXPECT_THAT(message_of([] { Dense(2, 3, nullptr, {.dtype = int64}); }),
              HasSubstr("must be of type float32 or float64, got int64"));
  const Dense dense(2, 3);
  EXPECT_THAT(message_of([&] { dense(ones({4, 3})); }), HasSubstr("[Dense] needs x (…, 2), got (4, 3); weight (2, 3)"));
  EXPECT_THAT(message_of([&] { dense(ones({})); }), HasSubstr("got ()"));
  EXPECT_THAT(message_of([&] { dense(ones({4, 2}, {.dtype = float64})); }), HasSubstr("float64"));
}

TEST(Dense, TheInitialiserMustFit) {
  EXPECT_THAT(message_of([] { Dense(2, 3, {.initialiser = nullptr}); }),
              HasSubstr("[Dense] initialiser must be a function, got none"));
  const Initialiser narrow = [](const Shape&, RandomOptions, Location) { return ones({2}); };
  EXPECT_THAT(message_of([&] { Dense(2, 3, {.initialiser = narrow}); }),
              HasSubstr("[Dense] initialiser must return the shape (2, 3), got (2)"));
  const Initialiser of_one_type = [](const Shape& shape, RandomOptions, Location) { return ones(shape); };
  EXPECT_THAT(message_of([&] { Dense(2, 3, nullptr, {.initialiser = of_one_type, .dtype = float64}); }),
              HasSubstr("[Dense] initialiser must follow its options, float64 on cpu, and returned float32 on cpu"));
}

// Parameters are written in place, also one that an initialiser made as a view.
TEST(Dense, TheInitialiserMayReturnAView) {
  const Initialiser in_rows = [](const Shape& shape, RandomOptions options, Location) {
    return arange(0, shape.numel(), 1, {.dtype = options.dtype}).reshape(shape);
  };
  Dense dense(2, 3, nullptr, {.initialiser = in_rows});
  optim::SGD sgd(parameters(dense), {.lr = 1});
  for (int step = 0; step < 2; ++step) {
    sum(dense(ones({1, 2}))).backward();
    sgd.step();
    sgd.zero_grad();
  }
  EXPECT_EQ(dense.weight.to_vector<float>(), std::vector<float>({-2, -1, 0, 1, 2, 3}));
}

TEST(Flatten, MakesRowsWithoutAnOperation) {
  const Tensor x = arange(0, 24).reshape({2, 3, 4});
  const auto before = engine_figures().operations;
  const Tensor flat = Flatten()(x);
  EXPECT_EQ(engine_figures().operations, before);
  EXPECT_EQ(flat.shape(), Shape(2, 12));
  EXPECT_EQ(flat.to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(Flatten()(ones({5})).shape(), Shape(5, 1));
  EXPECT_EQ(Flatten()(ones({0, 3, 2})).shape(), Shape(0, 6));
  EXPECT_THAT(message_of([] { Flatten()(ones({})); }), HasSubstr("[Flatten] needs x (N, …), got a scalar ()"));
}

}  // namespace
}  // namespace asyncgrad::nn
