#include "asyncgrad/autograd/matmul.h"

#include "tests/autograd/support.h"

namespace asyncgrad::tests {
namespace {

// x w by its definition; `at` finds an element in a matrix that may be stored transposed.
std::vector<double> product(const Tensor& x, const Tensor& w, MatmulOptions options = {}) {
  const std::vector<double> xs = values(x), ws = values(w);
  const auto at = [](const std::vector<double>& values, const Tensor& matrix, bool transposed, std::int64_t i,
                     std::int64_t j) {
    return values[static_cast<std::size_t>(transposed ? j * matrix.size(1) + i : i * matrix.size(1) + j)];
  };
  const std::int64_t rows = x.size(options.transpose_x ? 1 : 0), inner = x.size(options.transpose_x ? 0 : 1);
  const std::int64_t columns = w.size(options.transpose_w ? 0 : 1);
  std::vector<double> result;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < inner; ++k) {
        sum += at(xs, x, options.transpose_x, i, k) * at(ws, w, options.transpose_w, k, j);
      }
      result.push_back(sum);
    }
  }
  return result;
}

TEST(Matmul, IsTheProductForEveryTransposition) {
  for (const bool transpose_x : {false, true}) {
    for (const bool transpose_w : {false, true}) {
      const MatmulOptions options{transpose_x, transpose_w};
      const Tensor x = random64(transpose_x ? Shape{17, 9} : Shape{9, 17}, 1);
      const Tensor w = random64(transpose_w ? Shape{13, 17} : Shape{17, 13}, 2);
      const Tensor y = matmul(x, w, options);
      EXPECT_EQ(y.shape(), Shape(9, 13));
      expect_near(y, product(x, w, options));
      expect_near(matmul(x.to(float32), w.to(float32), options), product(x, w, options), 1e-5);
    }
  }
}

TEST(Matmul, BroadcastsLeadingAxes) {
  const Tensor x = random64({2, 1, 3, 4}, 1), w = random64({5, 4, 6}, 2);
  const Tensor y = matmul(x, w);
  ASSERT_EQ(y.shape(), Shape(2, 5, 3, 6));
  for (std::int64_t i = 0; i < 2; ++i) {
    for (std::int64_t j = 0; j < 5; ++j) expect_near(y[i][j], product(x[i][0], w[j]));
  }
  const Tensor turned = matmul(transpose(x), transpose(w), {.transpose_x = true, .transpose_w = true});
  expect_near(turned, values(y));
}

TEST(Matmul, OfOneMatrixIsOneProductOfAllRows) {
  const Tensor x = random64({2, 5, 3, 4}, 1), w = random64({4, 6}, 2);
  const Tensor y = matmul(x, w);
  ASSERT_EQ(y.shape(), Shape(2, 5, 3, 6));
  EXPECT_EQ(y.to_vector<double>(), matmul(x.reshape({30, 4}), w).to_vector<double>());
  EXPECT_EQ(matmul(zeros({0, 3, 4}), zeros({4, 6})).shape(), Shape(0, 3, 6));
}

TEST(Matmul, TakesVectorsOnBothSides) {
  const Tensor x = random64({2, 3, 4}, 1), w = random64({4}, 2), v = random64({3}, 3);
  const Tensor xw = matmul(x, w), vx = matmul(v, x);
  EXPECT_EQ(xw.shape(), Shape(2, 3));
  EXPECT_EQ(vx.shape(), Shape(2, 4));
  expect_near(xw[1], product(x[1], w.reshape({4, 1})));
  expect_near(vx[1], product(v.reshape({1, 3}), x[1]));
  EXPECT_EQ(matmul(w, w).shape(), Shape());
  expect_near(matmul(w, w), product(w.reshape({1, 4}), w.reshape({4, 1})));
}

TEST(Matmul, OverNothingIsZero) {
  EXPECT_EQ(matmul(zeros({2, 0}), zeros({0, 2})).to_vector<float>(), (std::vector<float>{0, 0, 0, 0}));
  EXPECT_EQ(matmul(zeros({0, 3}), zeros({3, 2})).shape(), Shape(0, 2));
}

TEST(Matmul, RefusesWhatDoesNotFitAtTheCall) {
  const Tensor x = zeros({1024, 512});
  EXPECT_EQ(message_of([&] {
              matmul(x, zeros({2048, 500}));
            }),
            "[matmul] inner dimensions differ: x (1024, 512), w (2048, 500)");
  EXPECT_EQ(message_of([&] {
              matmul(x, zeros({512, 3}), {.transpose_x = true});
            }),
            "[matmul] inner dimensions differ: x (1024, 512) transposed, w (512, 3)");
  EXPECT_EQ(message_of([&] { matmul(x, zeros({500})); }), "[matmul] inner dimensions differ: x (1024, 512), w (500)");
  EXPECT_EQ(message_of([&] { matmul(x, zeros({})); }), "[matmul] both operands need an axis: x (1024, 512), w ()");
  EXPECT_EQ(message_of([&] { matmul(x, zeros({512}), {.transpose_w = true}); }),
            "[matmul] an operand with one axis cannot be transposed: x (1024, 512), w (512) transposed");
  EXPECT_EQ(message_of([&] {
              matmul(zeros({2, 4, 5}), zeros({3, 5, 6}));
            }),
            "[matmul] leading axes do not broadcast: x (2, 4, 5), w (3, 5, 6); from the last axis on, extents are to "
            "be equal or 1");
  EXPECT_EQ(message_of([&] {
              matmul(x, zeros({512, 3}, {.dtype = float64}));
            }),
            "[matmul] types differ: x float32 (1024, 512), w float64 (512, 3); w.to(ag::float32) converts w");
  const Tensor integers = zeros({2, 2}, {.dtype = int64});
  EXPECT_EQ(message_of([&] { matmul(integers, integers); }),
            "[matmul] int64 is not supported: x int64 (2, 2); x.to(ag::float32) converts it");
  EXPECT_EQ(message_of([&] { matmul(x, Tensor()); }),
            "[matmul] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
}

TEST(Dense, IsTheProductWithBiasAndActivation) {
  const Tensor x = random64({6, 5}, 3), w = random64({5, 4}, 4), b = random64({4}, 5);
  std::vector<double> affine = product(x, w);
  expect_near(dense(x, w, Tensor()), affine);
  const std::vector<double> bias = values(b);
  for (std::size_t i = 0; i < affine.size(); ++i) affine[i] += bias[i % 4];
  expect_near(dense(x, w, b), affine);
  std::vector<double> activated = affine;
  for (double& value : activated) value = value > 0 ? value : 0;
  expect_near(dense(x, w, b, relu), activated);
  for (std::size_t i = 0; i < affine.size(); ++i) activated[i] = std::tanh(affine[i]);
  expect_near(dense(x, w, b, tanh), activated);
}

TEST(Dense, ComputesOnlyTheProductsOfWantedGradients) {
  const auto operations_of_backward = [](bool of_x) {
    Tensor x = ones({3, 4}), w = parameter(ones({4, 2})), b = parameter(zeros({2}));
    if (of_x) x.requires_grad_();
    const Tensor loss = sum(dense(x, w, b, relu));
    const std::int64_t before = engine_figures().operations;
    loss.backward();
    EXPECT_EQ(x.grad().defined(), of_x);
    return engine_figures().operations - before;
  };
  EXPECT_EQ(operations_of_backward(false), 4);  // the seed, repeated by sum; dense_grad; the product for the weight
  EXPECT_EQ(operations_of_backward(true), 5);
}

// An operand that no wanted gradient needs is freed as soon as the program drops it.
TEST(Dense, SavesOnlyWhatAWantedGradientNeeds) {
  constexpr std::int64_t bytes = 64 * 16 * 4;  // of h
  using Product = Tensor (*)(const Tensor& h, const Tensor& w);
  const Product products[] = {[](const Tensor& h, const Tensor& w) { return matmul(h, w); },
                              [](const Tensor& h, const Tensor& w) { return dense(h, w, Tensor()); }};
  for (const Product product : products) {
    for (const bool weight_wants : {false, true}) {
      const Tensor x = parameter(ones({64, 16})), w = ones({16, 4}).requires_grad_(weight_wants);
      Tensor h = x * 2;
      const Tensor y = product(h, w);
      const std::int64_t before = memory_figures().serial_live_bytes;
      h = Tensor();
      EXPECT_EQ(before - memory_figures().serial_live_bytes, weight_wants ? 0 : bytes);
    }
  }
}

TEST(Dense, RefusesWhatDoesNotFitAtTheCall) {
  const Tensor x = zeros({8, 5}), w = zeros({5, 4});
  EXPECT_EQ(message_of([&] {
              dense(x, zeros({6, 4}), Tensor());
            }),
            "[dense] inner dimensions differ: x (8, 5), weight (6, 4)");
  EXPECT_EQ(message_of([&] { dense(x, w, zeros({5})); }),
            "[dense] the bias needs one element for each column: weight (5, 4), bias (5)");
  EXPECT_EQ(message_of([&] { dense(x, w, zeros({4}, {.dtype = float64})); }),
            "[dense] types differ: x float32 (8, 5), weight float32 (5, 4), bias float64 (4); bias.to(ag::float32) "
            "converts bias");
  EXPECT_EQ(message_of([&] { dense(Tensor(), w, Tensor()); }),
            "[dense] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
  const Tensor integers = zeros({2, 2}, {.dtype = int64});
  EXPECT_EQ(message_of([&] { dense(integers, integers, Tensor()); }),
            "[dense] int64 is not supported: x int64 (2, 2); x.to(ag::float32) converts it");
}

}  // namespace
}  // namespace asyncgrad::tests
