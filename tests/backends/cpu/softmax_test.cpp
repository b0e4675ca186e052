#include <cmath>
#include <string>

#include "asyncgrad/core/error.h"
#include "tests/backends/cpu/kernel_runner.h"

namespace asyncgrad::detail {

namespace {

struct SoftmaxExtents {
  std::int64_t outer, axis, inner;
};

const std::vector<SoftmaxExtents> softmax_extents = {
    {1, 1, 1},   {5, 10, 1},  {3, 17, 1},   {700, 130, 1}, {2, 9001, 1}, {1, 10, 100}, {3, 40, 7},
    {0, 5, 2},   {2, 0, 3},   {300, 64, 1}, {2, 200, 90},  {40, 40, 1},  {9, 100, 1},  {5, 257, 1},
    {37, 24, 1}, {3, 300, 1}, {1, 5000, 3}, {2, 133, 2},   {3, 70, 4},   {1, 64, 3},   {1, 41, 3}};

using Line = std::vector<double>;

double log_sum_exp(const Line& x) {
  double largest = x[0], sum = 0;
  for (const double value : x) largest = std::max(largest, value);
  for (const double value : x) sum += std::exp(value - largest);
  return largest + std::log(sum);
}
Line log_softmax(Line x) {
  const double z = log_sum_exp(x);
  for (double& value : x) value -= z;
  return x;
}
Line softmax(Line x) {
  x = log_softmax(x);
  for (double& value : x) value = std::exp(value);
  return x;
}
Line softmax_grad(const Line& y, const Line& dy) {
  Line dx(y.size());
  double dot = 0;
  for (std::size_t i = 0; i < y.size(); ++i) dot += y[i] * dy[i];
  for (std::size_t i = 0; i < y.size(); ++i) dx[i] = y[i] * (dy[i] - dot);
  return dx;
}
Line log_softmax_grad(const Line& y, const Line& dy) {
  Line dx(y.size());
  double sum = 0;
  for (const double value : dy) sum += value;
  for (std::size_t i = 0; i < y.size(); ++i) dx[i] = dy[i] - std::exp(y[i]) * sum;
  return dx;
}

// Applies reference(lines…) -> line along the axis.
template <class T, class Reference, class... Inputs>
std::vector<T> along_lines(const SoftmaxExtents& e, Reference reference, const Inputs&... inputs) {
  std::vector<T> out(static_cast<std::size_t>(e.outer * e.axis * e.inner));
  for (std::int64_t line = 0; line < e.outer * e.inner && e.axis > 0; ++line) {
    const auto at = [&](std::int64_t i) {
      return static_cast<std::size_t>((line / e.inner * e.axis + i) * e.inner + line % e.inner);
    };
    const auto gathered = [&](const std::vector<T>& input) {
      Line values;
      for (std::int64_t i = 0; i < e.axis; ++i) values.push_back(static_cast<double>(input[at(i)]));
      return values;
    };
    const Line result = reference(gathered(inputs)...);
    for (std::int64_t i = 0; i < e.axis; ++i) out[at(i)] = static_cast<T>(result[static_cast<std::size_t>(i)]);
  }
  return out;
}

template <class T, class... Inputs>
std::vector<T> run(Op op, const SoftmaxExtents& e, const Inputs&... inputs) {
  const Shape shape{e.outer, e.axis, e.inner};
  const Array out(shape, dtype_of<T>);
  const std::vector<Array> arrays = [&] {
    std::vector<Array> made;
    (made.emplace_back(shape, inputs), ...);
    return made;
  }();
  std::vector<View> operands{written(out)};
  for (const Array& array : arrays) operands.push_back(read(array));
  run_kernel(op, operands, ReduceAttributes{e.outer, e.axis, e.inner});
  return out.values<T>();
}

template <class T>
void check_softmax() {
  for (const SoftmaxExtents& e : softmax_extents) {
    SCOPED_TRACE(Shape({e.outer, e.axis, e.inner}).str());
    const std::int64_t n = e.outer * e.axis * e.inner;
    const std::vector<T> x = random_values<T>(n, 1, -8, 8), dy = random_values<T>(n, 2);
    const std::vector<T> y = run<T>(Op::softmax, e, x), log_y = run<T>(Op::log_softmax, e, x);
    expect_close(y, along_lines<T>(e, softmax, x), 30);
    expect_close(log_y, along_lines<T>(e, log_softmax, x), 4, 16);
    expect_close(run<T>(Op::softmax_grad, e, y, dy), along_lines<T>(e, softmax_grad, y, dy), 8, 1);
    expect_close(run<T>(Op::log_softmax_grad, e, log_y, dy), along_lines<T>(e, log_softmax_grad, log_y, dy), 32, 8);
  }
}

TEST(Softmax, IsThatOfTheReference) {
  check_softmax<float>();
  check_softmax<double>();
}

// Columns of a matrix with the first of a wider one.
template <class T>
void check_few_columns(Op op) {
  constexpr std::size_t many = 20;
  for (const std::size_t columns : {2, 3, 4}) {
    for (const std::size_t n : {40, 64, 65, 1000, 5001}) {
      SCOPED_TRACE(Shape({static_cast<std::int64_t>(n), static_cast<std::int64_t>(columns)}).str());
      const auto rows = static_cast<std::int64_t>(n);
      const std::vector<T> wide = random_values<T>(rows * many, 1, -3, 3), wide_dy = random_values<T>(rows * many, 2);
      const auto first_of = [&](const std::vector<T>& matrix) {
        std::vector<T> result;
        for (std::size_t i = 0; i < n * columns; ++i) result.push_back(matrix[i / columns * many + i % columns]);
        return result;
      };
      const bool is_grad = op == Op::softmax_grad || op == Op::log_softmax_grad;
      const auto results = [&](std::int64_t inner, const std::vector<T>& x, const std::vector<T>& dy) {
        return is_grad ? run<T>(op, {1, rows, inner}, x, dy) : run<T>(op, {1, rows, inner}, x);
      };
      expect_same_bits(results(static_cast<std::int64_t>(columns), first_of(wide), first_of(wide_dy)),
                       first_of(results(many, wide, wide_dy)));
    }
  }
}
TEST(Softmax, OfFewColumnsHasTheBitsOfMany) {
  for (const Op op : {Op::softmax, Op::log_softmax, Op::softmax_grad, Op::log_softmax_grad}) {
    check_few_columns<float>(op);
    check_few_columns<double>(op);
  }
}

TEST(Softmax, OfLargeLogitsDoesNotOverflow) {
  const std::vector<float> x = {1e4F, 1e4F, -1e4F, 9e3F}, small = {-1e30F, -1e30F};
  EXPECT_EQ(run<float>(Op::softmax, {1, 4, 1}, x), (std::vector<float>{0.5F, 0.5F, 0, 0}));
  EXPECT_EQ(run<float>(Op::softmax, {1, 2, 1}, small), (std::vector<float>{0.5F, 0.5F}));
  expect_close(run<float>(Op::log_softmax, {1, 4, 1}, x),
               {-std::log(2.0F), -std::log(2.0F), -2e4F - std::log(2.0F), -1e3F - std::log(2.0F)}, 1);
}

TEST(Softmax, OfNanIsNan) {
  for (const float value : run<float>(Op::softmax, {1, 3, 1}, std::vector<float>{1, std::nanf(""), 2})) {
    EXPECT_TRUE(std::isnan(value));
  }
}

template <class T>
void check_cross_entropy(std::int64_t samples, std::int64_t classes, double range) {
  SCOPED_TRACE(Shape({samples, classes}).str());
  const std::vector<T> logits = random_values<T>(samples * classes, 5, -range, range),
                       gradients = random_values<T>(samples, 6);
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < samples; ++i) labels.push_back(i * 7 % classes);
  const Array loss(samples, dtype_of<T>), dx({samples, classes}, dtype_of<T>);
  const Array x({samples, classes}, logits), y(samples, labels), dy(samples, gradients);
  run_kernel(Op::cross_entropy, {written(loss), read(x), read(y)}, 0);
  run_kernel(Op::cross_entropy_grad, {written(dx), read(x), read(y), read(dy)}, 0);
  std::vector<T> losses, gradient;
  for (std::int64_t i = 0; i < samples; ++i) {
    const Line row(logits.begin() + i * classes, logits.begin() + (i + 1) * classes);
    const auto label = static_cast<std::size_t>(labels[static_cast<std::size_t>(i)]);
    losses.push_back(static_cast<T>(-log_softmax(row)[label]));
    Line p = softmax(row);
    p[label] -= 1;
    for (const double value : p)
      gradient.push_back(static_cast<T>(value * static_cast<double>(gradients[static_cast<std::size_t>(i)])));
  }
  expect_close(loss.values<T>(), losses, 8, 1);
  expect_close(dx.values<T>(), gradient, 30, 1e-2);
}

// Sums of -0 are 0 in rows of every length, as running sums begin with 0.
TEST(LogSoftmax, GivesOneSignOfZeroInRowsOfEveryLength) {
  for (const std::int64_t n : {5, 16, 17, 40, 64, 65, 128, 200, 256, 257, 1000}) {
    const auto size = static_cast<std::size_t>(2 * n);
    const Array dx({2, n}, float32), y({2, n}, std::vector<float>(size, -1)),
        dy({2, n}, std::vector<float>(size, -0.0F));
    run_kernel(Op::log_softmax_grad, {written(dx), read(y), read(dy)},
               ReduceAttributes{.outer = 2, .axis = n, .inner = 1});
    expect_same_bits(dx.values<float>(), std::vector<float>(size, -0.0F));
  }
}

TEST(CrossEntropy, IsThatOfTheReference) {
  check_cross_entropy<float>(1, 1, 3);
  check_cross_entropy<float>(37, 10, 3);
  check_cross_entropy<double>(37, 10, 3);
  check_cross_entropy<float>(3000, 100, 3);
  check_cross_entropy<double>(5, 5000, 3);
  check_cross_entropy<float>(20, 10, 1000);
}

TEST(CrossEntropy, RefusesLabelsThatAreNoClass) {
  const Array loss(Shape{3}, float32), x({3, 4}, std::vector<float>(12, 1)), dy(Shape{3}, std::vector<float>(3, 1));
  const std::vector<float> before = loss.values<float>();
  for (const std::int64_t wrong : {std::int64_t{4}, std::int64_t{-1}}) {
    const Array labels(Shape{3}, std::vector<std::int64_t>{0, 3, wrong});
    const std::string message =
        "label " + std::to_string(wrong) + " at position 2 is outside 4 classes, which are numbered from 0";
    const auto expect_error = [&](const std::string& operation, const auto& run) {
      try {
        run();
        FAIL() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.what(), "[" + operation + "] " + message);
      }
    };
    expect_error("cross_entropy", [&] { run_kernel(Op::cross_entropy, {written(loss), read(x), read(labels)}, 0); });
    const Array dx({3, 4}, float32);
    expect_error("cross_entropy_grad", [&] {
      run_kernel(Op::cross_entropy_grad, {written(dx), read(x), read(labels), read(dy)}, 0);
    });
  }
  expect_same_bits(loss.values<float>(), before);
}

}  // namespace

}  // namespace asyncgrad::detail
