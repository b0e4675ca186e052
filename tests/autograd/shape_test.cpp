#include "asyncgrad/autograd/shape.h"

#include "tests/autograd/support.h"

namespace asyncgrad {
namespace {

using tests::message_of;

TEST(Reshape, SharesStorage) {
  Tensor x = tests::float64_tensor({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor y = reshape(x, {3, 2});
  EXPECT_EQ(y.shape(), Shape(3, 2));
  x += 1;
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(reshape(ones({1, 1}), {}).item(), 1);
}

TEST(Slice, SharesRows) {
  Tensor x = tests::float64_tensor({1, 2, 3, 4, 5, 6}, {3, 2});
  Tensor y = slice(x, 1, 3);
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{3, 4, 5, 6}));
  y.slice(0, 1).fill_(9);
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{1, 2, 9, 9, 5, 6}));
  EXPECT_EQ(slice(x, 2, 2).shape(), Shape(0, 2));
}

TEST(Transpose, ExchangesTwoAxes) {
  const Tensor x = arange(0, 24).reshape({2, 3, 4});
  const Tensor y = transpose(x), z = transpose(x, 0, -1);
  EXPECT_EQ(y.shape(), Shape(2, 4, 3));
  EXPECT_EQ(z.shape(), Shape(4, 3, 2));
  const std::vector<float> ys = y.to_vector<float>(), zs = z.to_vector<float>();
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t k = 0; k < 4; ++k) {
        const auto element = static_cast<float>(i * 12 + j * 4 + k);
        EXPECT_EQ(ys[i * 12 + k * 3 + j], element);
        EXPECT_EQ(zs[k * 6 + j * 2 + i], element);
      }
    }
  }
}

TEST(Shapes, RefuseWhatDoesNotFitAtTheCall) {
  const Tensor x = zeros({2, 3});
  EXPECT_EQ(message_of([&] { reshape(x, {4, 2}); }), "[reshape] (2, 3) has 6 elements, (4, 2) would have 8");
  EXPECT_EQ(message_of([&] { transpose(x, 0, 2); }), "[transpose] no axis 2 in (2, 3)");
  EXPECT_EQ(message_of([&] { transpose(zeros({3})); }), "[transpose] no axis -2 in (3)");
  EXPECT_EQ(message_of([&] { slice(x, 1, 3); }), "[slice] no rows 1 to 3 in (2, 3)");
  EXPECT_EQ(message_of([&] { slice(x, -1, 1); }), "[slice] no rows -1 to 1 in (2, 3)");
  EXPECT_EQ(message_of([&] { slice(sum(x), 0, 0); }), "[slice] a scalar has no rows");
  EXPECT_EQ(message_of([] { Tensor().reshape({1}); }), "[reshape] a tensor that holds nothing");
}

}  // namespace
}  // namespace asyncgrad
