#include "tests/autograd/support.h"

namespace asyncgrad::tests {
namespace {

// Along both axes the middle of a line from 0 to 3 in four times as many elements.
TEST(Interpolate, IsThatOfPyTorch) {
  const Tensor x = Tensor::from<double>({0, 1, 2, 3}, {1, 1, 2, 2});
  EXPECT_EQ(interpolate(x, {4, 2}).to_vector<double>(), (std::vector<double>{0, 1, 0, 1, 2, 3, 2, 3}));
  EXPECT_EQ(interpolate(x, {1, 4}, {.mode = Interpolation::bilinear}).to_vector<double>(),
            (std::vector<double>{1, 1.25, 1.75, 2}));
  EXPECT_EQ(interpolate(x, {2, 3}, {.mode = Interpolation::bilinear, .align_corners = true}).to_vector<double>(),
            (std::vector<double>{0, 0.5, 1, 2, 2.5, 3}));
  EXPECT_EQ(message_of([&] { interpolate(x, {0, 2}); }), "[interpolate] size must be 1 or more, got (0, 2)");
  EXPECT_EQ(message_of([&] { interpolate(x, 2, {.align_corners = true}); }),
            "[interpolate] align_corners is for bilinear");
}

TEST(Interpolate, RefusesWhatIsNoImage) {
  EXPECT_EQ(message_of([] {
              interpolate(ones({2, 4, 4}), {2, 2});
            }),
            "[interpolate] needs x (N, C, H, W), got (2, 4, 4); x.reshape({1, 2, 4, 4}) is a batch of one sample");
  EXPECT_EQ(message_of([] {
              interpolate(ones({1, 2, 0, 4}), {2, 2});
            }),
            "[interpolate] needs planes with elements, got (1, 2, 0, 4)");
}

}  // namespace
}  // namespace asyncgrad::tests
