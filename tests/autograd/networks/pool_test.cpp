#include <limits>

#include "tests/autograd/gradient_check.h"

namespace asyncgrad::tests {
namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

struct PoolCase {
  Shape x;
  Size2d kernel;
  PoolOptions options{};
};
const PoolCase pool_cases[] = {
    {{2, 3, 4, 6}, 2},
    {{1, 2, 5, 7}, 2},
    {{1, 2, 7, 6}, 3},
    {{1, 2, 5, 6}, {2, 3}, {.stride = 1}},
    {{1, 1, 5, 6}, {3, 2}, {.stride = {2, 1}, .padding = 1}},
    {{1, 2, 6, 5}, 3, {.stride = {1, 3}, .padding = {1, 0}}},
    {{1, 2, 6, 7}, 3, {.stride = 1, .padding = 1}},
    {{1, 2, 7, 6}, 3, {.stride = 2, .padding = 1}},
    {{1, 2, 5, 6}, 2, {.stride = 1, .padding = 1}},
    {{1, 2, 2, 1}, 3, {.stride = 2, .padding = 1}},
    {{2, 2, 3, 4}, {3, 4}},
    {{1, 2, 3, 3}, 1, {.stride = 2}},
    {{1, 2, 5, 17}, {3, 2}, {.stride = 2, .padding = 1}},
    {{1, 1, 7, 40}, {5, 4}, {.stride = {2, 3}, .padding = {2, 1}}},
    {{1, 1, 2, 3}, 64, {.stride = 1, .padding = 32}},
    {{1, 2, 4, 75}, 2},
    {{1, 1, 6, 45}, 3, {.stride = {2, 1}, .padding = 1}},
    {{1, 1, 5, 71}, 3, {.stride = 2, .padding = 1}},
};

enum class Kind { largest, mean };

std::vector<double> by_definition(const PoolCase& c, Kind kind, const Tensor& x, const Shape& shape) {
  const std::vector<double> xs = values(x);
  const Size2d stride = c.options.stride.height == 0 ? c.kernel : c.options.stride;
  std::vector<double> y;
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    const std::int64_t q = i % shape[3], p = i / shape[3] % shape[2], plane = i / shape[3] / shape[2];
    double most = -infinity, sum = 0;
    for (std::int64_t k = 0; k < c.kernel.height * c.kernel.width; ++k) {
      const std::int64_t row = p * stride.height - c.options.padding.height + k / c.kernel.width;
      const std::int64_t column = q * stride.width - c.options.padding.width + k % c.kernel.width;
      if (row < 0 || row >= c.x[2] || column < 0 || column >= c.x[3]) continue;
      const double value = xs[static_cast<std::size_t>((plane * c.x[2] + row) * c.x[3] + column)];
      most = std::max(most, value);
      sum += value;
    }
    y.push_back(kind == Kind::largest ? most : sum / static_cast<double>(c.kernel.height * c.kernel.width));
  }
  return y;
}

TEST(Pool, IsWhatItsDefinitionSays) {
  for (const PoolCase& c : pool_cases) {
    SCOPED_TRACE(c.x.str());
    const Tensor x = random64(c.x, 1, -3, -1);
    const Tensor most = max_pool2d(x, c.kernel, c.options), mean = avg_pool2d(x, c.kernel, c.options);
    EXPECT_EQ(values(most), by_definition(c, Kind::largest, x, most.shape()));
    expect_near(mean, by_definition(c, Kind::mean, x, mean.shape()));
    expect_near(max_pool2d(x.to(float32), c.kernel, c.options), values(most), 1e-6);
    expect_near(avg_pool2d(x.to(float32), c.kernel, c.options), values(mean), 1e-6);
  }
}

TEST(Pool, HasTheGradientsOfDifferences) {
  for (const PoolCase& c : pool_cases) {
    SCOPED_TRACE(c.x.str());
    const Tensor x = random64(c.x, 1);
    const Function most = [&](const auto& t) { return max_pool2d(t[0], c.kernel, c.options); };
    const Function mean = [&](const auto& t) { return avg_pool2d(t[0], c.kernel, c.options); };
    for (const Function& f : {most, mean}) {
      check_gradients(f, {x});
      check_derivatives(1, [&](const auto& t) { return square(f(t)); }, {x});
    }
  }
}

TEST(Pool, HasTheSameGradientsInFloat32) {
  for (const PoolCase& c : pool_cases) {
    const auto gradient = [&](auto pool, DType dtype) {
      Tensor x = parameter(random64(c.x, 1).to(float32).to(dtype));
      sum(square(pool(x, c.kernel, c.options))).backward();
      return x.grad();
    };
    const auto most = [](const Tensor& x, Size2d k, const PoolOptions& o) { return max_pool2d(x, k, o); };
    const auto mean = [](const Tensor& x, Size2d k, const PoolOptions& o) { return avg_pool2d(x, k, o); };
    expect_near(gradient(most, float32), values(gradient(most, float64)), 1e-5);
    expect_near(gradient(mean, float32), values(gradient(mean, float64)), 1e-5);
  }
}

TEST(MaxPool2d, GivesTheGradientToTheFirstOfEquals) {
  Tensor x = parameter(Tensor::from({1.0, 2.0, 2.0, 2.0}, {1, 1, 2, 2}));
  sum(max_pool2d(x, 2)).backward();
  EXPECT_EQ(values(x.grad()), (std::vector<double>{0, 1, 0, 0}));
  Tensor lowest = parameter(full({1, 1, 2, 2}, -infinity));
  const Tensor y = max_pool2d(lowest, 2);
  EXPECT_EQ(y.item(), -infinity);
  sum(y).backward();
  EXPECT_EQ(values(lowest.grad()), (std::vector<double>{1, 0, 0, 0}));
}

// Rows of many windows are computed in another way than few.
TEST(MaxPool2d, GivesTheGradientToTheFirstOfEqualsInLongRows) {
  constexpr std::int64_t windows = 40;
  std::vector<double> x, dx;
  const auto append_row = [&](double left, double right, double dx_left, double dx_right) {
    for (std::int64_t i = 0; i < windows; ++i)
      x.insert(x.end(), {left, right}), dx.insert(dx.end(), {dx_left, dx_right});
  };
  append_row(1, 2, 0, 1);
  append_row(2, 2, 0, 0);
  append_row(-infinity, -infinity, 1, 0);
  append_row(-infinity, -infinity, 0, 0);
  for (const DType dtype : {float32, float64}) {
    const Tensor in = parameter(float64_tensor(x, {1, 1, 4, 2 * windows}).to(dtype));
    sum(max_pool2d(in, 2)).backward();
    EXPECT_EQ(values(in.grad()), dx);
  }
}

// A window has NaN everywhere, or 5 as its last element.
TEST(MaxPool2d, GivesTheGradientToTheLastNaN) {
  for (const std::int64_t windows : {3, 13, 40}) {
    std::vector<double> x, dx;
    for (const bool is_last : {false, true}) {
      for (std::int64_t i = 0; i < windows; ++i) {
        const bool has_five = i % 2 == 1;
        x.insert(x.end(), {nan, is_last && has_five ? 5.0 : nan});
        dx.insert(dx.end(), {is_last && has_five ? 1.0 : 0.0, is_last && !has_five ? 1.0 : 0.0});
      }
    }
    for (const DType dtype : {float32, float64}) {
      const Tensor in = parameter(float64_tensor(x, {1, 1, 2, 2 * windows}).to(dtype));
      sum(max_pool2d(in, 2)).backward();
      EXPECT_EQ(values(in.grad()), dx);
    }
  }
}

TEST(Pool, SpreadsANaNToTheWindowsThatHaveIt) {
  const Tensor x = float64_tensor({nan, 1, 2, 3, 4, nan, 5, 6, 7, 8, 9, 10}, {1, 1, 2, 6});
  for (const Tensor& y : {max_pool2d(x, 2), avg_pool2d(x, 2), max_pool2d(x, {2, 2}, {.stride = 2, .padding = 0})}) {
    const std::vector<double> found = values(y);
    EXPECT_TRUE(std::isnan(found[0]));
    EXPECT_FALSE(std::isnan(found[1]));
    EXPECT_TRUE(std::isnan(found[2]));
  }
}

TEST(Pool, OfNothingIsNothing) {
  Tensor x = parameter(zeros({0, 2, 4, 4}));
  EXPECT_EQ(max_pool2d(x, 2).shape(), Shape(0, 2, 2, 2));
  sum(max_pool2d(x, 2)).backward();
  sum(avg_pool2d(x, 2)).backward();
  EXPECT_EQ(x.grad().shape(), x.shape());
}

TEST(Pool, RefusesWhatDoesNotFitAtTheCall) {
  const Tensor x = zeros({1, 2, 4, 4});
  EXPECT_EQ(message_of([&] {
              max_pool2d(zeros({2, 4, 4}), 2);
            }),
            "[max_pool2d] needs x (N, C, H, W), got (2, 4, 4); x.reshape({1, 2, 4, 4}) is a batch of one sample");
  EXPECT_EQ(message_of([&] {
              max_pool2d(zeros({1, 2, 0, 4}), 2, {.padding = 1});
            }),
            "[max_pool2d] needs planes with elements, got (1, 2, 0, 4)");
  EXPECT_EQ(message_of([&] { avg_pool2d(x, {2, 0}); }), "[avg_pool2d] kernel_size must be 1 or more, got (2, 0)");
  EXPECT_EQ(message_of([&] { max_pool2d(x, 2, {.stride = -1}); }),
            "[max_pool2d] stride must be 1 or more, got (-1, -1)");
  EXPECT_EQ(message_of([&] { max_pool2d(x, 2, {.padding = -1}); }),
            "[max_pool2d] padding must be 0 or more, got (-1, -1)");
  EXPECT_EQ(message_of([&] { max_pool2d(x, 3, {.padding = 2}); }),
            "[max_pool2d] padding may be half of the kernel_size at most: padding (2, 2), kernel_size (3, 3)");
  EXPECT_EQ(message_of([&] {
              max_pool1d(zeros({2, 3, 4}), 3, {.stride = -1});
            }),
            "[max_pool1d] stride must be 1 or more, got (1, -1)");
  EXPECT_EQ(message_of([&] {
              avg_pool1d(zeros({2, 3, 4}, {.dtype = int64}), 3);
            }),
            "[avg_pool1d] int64 is not supported: x int64 (2, 3, 4); x.to(ag::float32) converts it");
  EXPECT_EQ(message_of([&] { avg_pool2d(x, 5); }),
            "[avg_pool2d] the kernel is larger than the padded input: input (4, 4), kernel (5, 5), padding (0, 0), "
            "dilation (1, 1); take a smaller kernel, or fewer strides and pools before it");
  EXPECT_TRUE(has_parts(message_of([&] { avg_pool2d(x, largest, {.padding = largest / 2}); }),
                        {"[avg_pool2d] numbers are too large"}));
  EXPECT_EQ(message_of([&] { max_pool2d(x.to(int64), 2); }),
            "[max_pool2d] int64 is not supported: x int64 (1, 2, 4, 4); x.to(ag::float32) converts it");
  EXPECT_EQ(message_of([&] { avg_pool2d(Tensor(), 2); }),
            "[avg_pool2d] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
}

// A plan of the kernel by vectors would ask for memory for the padding.
TEST(Pool, TakesPaddingThatIsWiderThanTheInput) {
  const Tensor x = arange(0, 64).reshape({1, 1, 64});
  const Tensor y = max_pool1d(x, std::int64_t{1} << 61, {.stride = 2, .padding = std::int64_t{1} << 60});
  EXPECT_EQ(y.to_vector<float>(), std::vector<float>(33, 63));
}

}  // namespace
}  // namespace asyncgrad::tests
