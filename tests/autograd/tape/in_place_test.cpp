// Tensors that are written in place: what backward() refuses, and whose history they have.
#include "tests/autograd/support.h"

namespace asyncgrad::tests {
namespace {

TEST(Versions, CatchASavedTensorThatWasOverwritten) {
  const Tensor x = parameter(ones({3}));
  Tensor y = sigmoid(x);
  y += 1;
  EXPECT_TRUE(
      has_parts(message_of([&] { sum(y).backward(); }),
                {"[sigmoid] a tensor that its gradient needs was written in place afterwards: float32 (3) is at "
                 "version 2, saved at version 1; queued at in_place_test.cpp:",
                 "clone()"}));
}

TEST(Versions, SeeWritesThroughViewsAndUnderNoGrad) {
  Tensor w = parameter(ones({2, 2}));
  const Tensor x = parameter(ones({1, 2}));
  const Tensor y = sum(matmul(x, w));
  {
    const NoGrad no_grad;
    w.slice(0, 1).fill_(7);
  }
  EXPECT_TRUE(has_parts(message_of([&] { y.backward(); }), {"[matmul]", "float32 (2, 2) is at version", "saved at"}));
}

TEST(Versions, LetPassWhatNoGradientNeeds) {
  const Tensor x = parameter(ones({3}));
  Tensor y = x + 1;
  const Tensor z = y * 2;
  y += 1;  // neither the sum nor the product by a number needs it
  sum(z).backward();
  EXPECT_EQ(gradient_of(x), (std::vector<float>{2, 2, 2}));
}

TEST(Versions, CountOnlyForOperandsThatAWantedGradientNeeds) {
  const Tensor x = parameter(ones({1, 2}));
  Tensor w = full({2, 1}, 3);
  const Tensor by_matmul = sum(matmul(x, w)), by_dense = sum(dense(x, w, Tensor())), by_product = sum(x * w);
  {
    const NoGrad no_grad;
    Tensor(x).fill_(9);
  }
  by_matmul.backward();
  by_dense.backward();
  by_product.backward();
  EXPECT_EQ(gradient_of(x), (std::vector<float>{12, 12}));
}

TEST(InPlaceHistory, RefusesALeafOutsideOfNoGrad) {
  Tensor x = parameter(ones({3}));
  const std::string message = "(3) is a leaf whose gradient is wanted; write it under NoGrad";
  EXPECT_EQ(message_of([&] { x += 1; }), "[+=] " + message);
  EXPECT_EQ(message_of([&] { x.fill_(0); }), "[fill_] " + message);
  EXPECT_EQ(message_of([&] { x.copy_(zeros({3})); }), "[copy_] " + message);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 1, 1}));
  {
    const NoGrad no_grad;
    x -= 0.5;
  }
  EXPECT_TRUE(x.requires_grad());
  sum(square(x)).backward();
  EXPECT_EQ(gradient_of(x), (std::vector<float>{1, 1, 1}));
}

TEST(InPlaceHistory, IsSeenByAllCopiesOfTheHandle) {
  const Tensor x = parameter(ones({2}));
  Tensor y = x * 1;
  const Tensor copy = y;
  y *= 3;
  sum(copy).backward();
  EXPECT_EQ(gradient_of(x), (std::vector<float>{3, 3}));
}

TEST(InPlaceHistory, RefusesViews) {
  const Tensor x = parameter(ones({4}));
  Tensor y = x * 1, plain = ones({4});
  const std::vector<std::string> parts = {"shares its storage with the tensor that it was taken from", "NoGrad"};
  EXPECT_TRUE(has_parts(message_of([&] { y.slice(0, 2) += 1; }), parts));
  EXPECT_TRUE(has_parts(message_of([&] { y.reshape({2, 2}).fill_(1); }), parts));
  EXPECT_TRUE(has_parts(message_of([&] { x.slice(0, 2).fill_(1); }), parts));
  EXPECT_TRUE(has_parts(message_of([&] { plain.slice(0, 2) += x.slice(0, 2); }), parts));
  plain.slice(0, 2) += 1;
  EXPECT_EQ(plain.to_vector<float>(), (std::vector<float>{2, 2, 1, 1}));
}

// Whatever is kept to compute values again.
TEST(InPlaceHistory, WritesAViewOfWhatIsGone) {
  const EngineOptions before = engine_options();
  for (const bool recomputes : {false, true}) {
    set_engine_options({.memory_budget = MemoryBudget::bytes(1 << 20), .recompute_to_fit = recomputes});
    const Tensor x = parameter(ones({2, 2}));
    Tensor flat = (x * 2).reshape({4});
    const Tensor squared = square(flat + 0);
    flat *= 3;
    Tensor row = (x * 2)[1];
    row += flat.slice(0, 2);
    (sum(squared) + sum(row) + sum(flat)).backward();
    EXPECT_EQ(gradient_of(x), (std::vector<float>{8 + 6 + 6, 8 + 6 + 6, 8 + 2 + 6, 8 + 2 + 6}));
    EXPECT_TRUE(has_parts(message_of([&] { exp(x).reshape({4}) += 1; }), {"shares its storage"}))
        << "the tape saved it";
    EXPECT_TRUE(has_parts(message_of([&] { flat.slice(0, 2) += 1; }), {"shares its storage"}));
  }
  set_engine_options(before);
}

TEST(InPlaceHistory, RefusesAViewWhoseBaseWasWritten) {
  const Tensor x = parameter(ones({4}));
  Tensor y = x * 1;
  const Tensor view = y.slice(0, 2);
  y *= 3;
  EXPECT_TRUE(has_parts(message_of([&] { view + 1; }), {"[add] (2) shares its storage", "slice", "take it again"}));
  sum(y.slice(0, 2)).backward();
  EXPECT_EQ(gradient_of(x), (std::vector<float>{3, 3, 0, 0}));
}

// A view without a history is refused, too, because through it the history's leaves would get no gradient.
TEST(InPlaceHistory, RefusesAViewFromBeforeIt) {
  const Tensor x = parameter(ones({2})), bias = parameter(zeros({2}));
  for (const bool is_copy : {false, true}) {
    Tensor y = zeros({2, 2});
    const Tensor row = y.slice(0, 1), flat = y.reshape({4});
    y += 1;
    EXPECT_EQ((row + bias).to_vector<float>(), (std::vector<float>{1, 1})) << "a write without history";
    if (is_copy) {
      y.copy_(x.reshape({1, 2}) + zeros({2, 2}));
    } else {
      y += x;
    }
    for (const Tensor& view : {row, flat}) {
      EXPECT_TRUE(has_parts(message_of([&] { view + 1; }), {"[add]", "shares its storage", "take it again"}));
    }
    const NoGrad no_grad;
    EXPECT_EQ((row + 1).to_vector<float>(), is_copy ? (std::vector<float>{2, 2}) : (std::vector<float>{3, 3}));
  }
}

TEST(InPlaceHistory, AnOverwriteBeginsANewOne) {
  const Tensor x = parameter(ones({2})), z = parameter(ones({2}));
  Tensor y = x * 2;
  y.copy_(z);
  sum(y * 5).backward();
  EXPECT_EQ(gradient_of(z), (std::vector<float>{5, 5}));
  EXPECT_FALSE(x.grad().defined());
  y.fill_(3);
  EXPECT_FALSE(y.requires_grad());
}

TEST(InPlaceHistory, TheTargetMayBeItsOwnSource) {
  const Tensor x = parameter(Tensor::from({3.0f}, {1}));
  Tensor y = x * 1;
  y *= y.detach();
  sum(y).backward();
  EXPECT_EQ(gradient_of(x), (std::vector<float>{3}));
}

}  // namespace
}  // namespace asyncgrad::tests
