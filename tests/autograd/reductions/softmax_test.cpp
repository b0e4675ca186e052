#include "asyncgrad/autograd/softmax.h"

#include "tests/autograd/support.h"

namespace asyncgrad::tests {
namespace {

// Softmax over the middle of three axes, by its definition.
std::vector<double> softmax_by_definition(const std::vector<double>& x, std::size_t axis, std::size_t inner) {
  std::vector<double> result(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t first = i / (axis * inner) * axis * inner + i % inner;
    double total = 0;
    for (std::size_t k = 0; k < axis; ++k) total += std::exp(x[first + k * inner]);
    result[i] = std::exp(x[i]) / total;
  }
  return result;
}

TEST(Softmax, IsOneOverEveryAxis) {
  const Tensor x = random64({3, 4, 5}, 1, -3, 3);
  const std::vector<double> xs = values(x);
  const std::size_t extents[] = {3, 4, 5}, inner[] = {20, 5, 1};
  for (int axis = 0; axis < 3; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    std::vector<double> expected = softmax_by_definition(xs, extents[i], inner[i]);
    expect_near(softmax(x, axis), expected);
    expect_near(softmax(x.to(float32), axis - 3), expected, 1e-6);
    for (double& value : expected) value = std::log(value);
    expect_near(log_softmax(x, axis), expected);
  }
}

// Lines that are not contiguous are computed several at once, and long ones are summed in another order than rows.
TEST(Softmax, HasTheValuesOfTheLastAxisAlongOthers) {
  for (const Shape& shape : {Shape(2, 5, 37), Shape(3, 600, 20), Shape(1, 9000, 3), Shape(2, 0, 3)}) {
    const double tolerance = shape[1] <= 16 ? 0 : 1e-5;
    SCOPED_TRACE(shape.str());
    for (const auto& function : {softmax, log_softmax}) {
      const Tensor x = parameter(random64(shape, 4, -3, 3).to(float32)), dy = random64(shape, 5, -1, 1).to(float32);
      const Tensor last = parameter(x.detach().transpose(1, 2));
      const Tensor y = function(x, 1), y_last = function(last, 2);
      expect_near(y, values(y_last.transpose(1, 2)), tolerance);
      y.backward(dy);
      y_last.backward(dy.transpose(1, 2));
      expect_near(x.grad(), values(last.grad().transpose(1, 2)), tolerance);
    }
  }
}

TEST(Softmax, DoesNotOverflow) {
  const Tensor x = Tensor::from({1000.0f, 1000.0f, -1000.0f}, {3});
  EXPECT_EQ(softmax(x).to_vector<float>(), (std::vector<float>{0.5f, 0.5f, 0}));
  EXPECT_FLOAT_EQ(static_cast<float>(log_softmax(x).to_vector<float>()[2]), -2000.0f - std::log(2.0f));
}

TEST(CrossEntropy, IsTheLogarithmOfTheLabelsShare) {
  const Tensor x = random64({3, 4}, 2, -2, 2);
  const std::vector<double> shares = softmax_by_definition(values(x), 4, 1);
  expect_near(cross_entropy(x, int64_tensor({2, 0, 3}, {3})),
              {-std::log(shares[2]), -std::log(shares[4]), -std::log(shares[11])});
}

TEST(CrossEntropy, RefusesALabelThatIsNoClassAtTheWait) {
  const std::string message = message_of([] { cross_entropy(zeros({2, 3}), int64_tensor({0, 3}, {2})).wait(); });
  EXPECT_TRUE(has_parts(message, {"[cross_entropy]", "3"}));
  recover();
}

TEST(Softmax, RefusesWhatDoesNotFitAtTheCall) {
  const Tensor x = zeros({2, 3});
  EXPECT_EQ(message_of([&] { softmax(x, 2); }), "[softmax] there is no axis 2 in (2, 3); axes are -2 to 1");
  EXPECT_EQ(message_of([&] { log_softmax(zeros({2}, {.dtype = int64})); }),
            "[log_softmax] int64 is not supported: x int64 (2); x.to(ag::float32) converts it");
  EXPECT_EQ(message_of([&] { softmax(Tensor()); }),
            "[softmax] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
  EXPECT_EQ(message_of([&] { cross_entropy(x, zeros({2})); }),
            "[cross_entropy] labels must be int64 of one axis: labels float32 (2); labels.to(ag::int64) converts them");
  EXPECT_EQ(
      message_of([&] { cross_entropy(x, zeros({3}, {.dtype = int64})); }),
      "[cross_entropy] each row needs one label: needs logits (N, C) and labels (N), got logits (2, 3), labels (3)");
}

}  // namespace
}  // namespace asyncgrad::tests
