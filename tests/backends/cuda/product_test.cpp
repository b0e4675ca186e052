// Compares the products that cuBLASLt is asked for, by its own rules, with plain products, and tests our kernels beside
// it.
#include "asyncgrad/backends/cuda/kernels/product.h"

#include "tests/backends/cpu/product_harness.h"
#include "tests/backends/cuda/both_backends.h"

namespace asyncgrad::detail {

namespace {

using cuda::Product;

Shape stored(std::int64_t rows, std::int64_t columns, bool transposed) {
  return transposed ? Shape{columns, rows} : Shape{rows, columns};
}

// D as cuBLASLt computes it: element (i, j) of a matrix of `rows` rows is number i + j rows.
std::vector<double> by_columns(const Product& p, const std::vector<float>& a, const std::vector<float>& b,
                               const std::vector<float>& bias) {
  const auto element = [](const std::vector<float>& m, std::int64_t rows, std::int64_t i, std::int64_t j) {
    return static_cast<double>(m[static_cast<std::size_t>(i + j * rows)]);
  };
  std::vector<double> d(static_cast<std::size_t>(p.rows * p.columns));
  for (std::int64_t j = 0; j < p.columns; ++j) {
    for (std::int64_t i = 0; i < p.rows; ++i) {
      double sum = p.has_bias ? static_cast<double>(bias[static_cast<std::size_t>(i)]) : 0;
      for (std::int64_t k = 0; k < p.depth; ++k) {
        sum += (p.transpose_a ? element(a, p.rows_of_a(), k, i) : element(a, p.rows_of_a(), i, k)) *
               (p.transpose_b ? element(b, p.rows_of_b(), j, k) : element(b, p.rows_of_b(), k, j));
      }
      d[static_cast<std::size_t>(i + j * p.rows)] = p.activation == ActivationKind::relu ? std::max(sum, 0.0) : sum;
    }
  }
  return d;
}

struct Sizes {
  std::int64_t m, n, k;
};
const std::vector<Sizes> sizes = {{3, 5, 7}, {1, 4, 2}, {4, 1, 3}, {2, 2, 1}, {8, 8, 8}};

TEST(CudaProduct, OfMatmulIsTheProduct) {
  for (const Sizes& s : sizes) {
    for (const bool transpose_x : {false, true}) {
      for (const bool transpose_w : {false, true}) {
        const Shape x_shape = stored(s.m, s.k, transpose_x), w_shape = stored(s.k, s.n, transpose_w);
        const std::vector<float> x = numbers<float>(x_shape, 1), w = numbers<float>(w_shape, 2);
        const Array out({s.m, s.n}, float32), x_array(x_shape, x), w_array(w_shape, w);
        const std::vector<View> operands{written(out), read(x_array), read(w_array)};
        const MatmulAttributes attributes{.transpose_x = transpose_x, .transpose_w = transpose_w};
        const Product product = cuda::matmul_product({operands.data(), 3, &attributes});
        EXPECT_EQ(product.rows_of_a() * product.columns_of_a(), w_shape.numel());
        EXPECT_EQ(product.rows_of_b() * product.columns_of_b(), x_shape.numel());
        EXPECT_EQ(by_columns(product, w, x, {}), reference_product({s.m, s.n, s.k, transpose_x, transpose_w}, x, w));
      }
    }
  }
}

TEST(CudaProduct, OfDenseHasBiasAndActivation) {
  for (const Sizes& s : sizes) {
    for (const bool has_bias : {false, true}) {
      for (const bool relu : {false, true}) {
        const std::vector<float> x = numbers<float>({s.m, s.k}, 1), w = numbers<float>({s.k, s.n}, 2);
        const std::vector<float> bias = numbers<float>({s.n}, 3);
        const Array out({s.m, s.n}, float32), x_array({s.m, s.k}, x), w_array({s.k, s.n}, w), bias_array({s.n}, bias);
        const std::vector<View> operands{written(out), read(x_array), read(w_array), read(bias_array)};
        const DenseAttributes attributes{.activation = relu ? ActivationKind::relu : ActivationKind::none,
                                         .has_bias = has_bias};
        const Product product = cuda::dense_product({operands.data(), has_bias ? 4 : 3, &attributes});
        const bool is_fused = s.m > 1 && s.n > 1 && s.k > 1;  // else our own kernel adds the bias
        EXPECT_EQ(product.has_bias, has_bias && is_fused);
        const std::vector<double> expected = reference_product(
            {s.m, s.n, s.k}, x, w, has_bias && is_fused ? bias : std::vector<float>{}, relu && is_fused);
        const std::vector<double> result = by_columns(product, w, x, bias);
        for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(result[i], expected[i], 1e-12);
      }
    }
  }
}

// cuBLASLt gets no bias that is not aligned, and our own kernel adds it.
TEST(CudaProduct, LeavesABiasOutThatIsNotAligned) {
  const Array out({2, 3}, float32), x({2, 4}, float32), w({4, 3}, float32), bias({4}, float32);
  std::vector<View> operands{written(out), read(x), read(w), read(bias)};
  operands[3].shape = {3};
  const DenseAttributes attributes{.activation = ActivationKind::relu, .has_bias = true};
  const KernelCall call{operands.data(), 4, &attributes};
  EXPECT_TRUE(cuda::dense_product(call).is_aligned);
  EXPECT_TRUE(cuda::dense_product(call).has_bias);
  operands[3].data += 4;
  EXPECT_FALSE(cuda::dense_product(call).is_aligned);
  EXPECT_FALSE(cuda::dense_product(call).has_bias);
  EXPECT_EQ(cuda::dense_product(call).activation, ActivationKind::none);
}

TEST(CudaProduct, FinishesInPlace) {
  const Array out({2, 3}, std::vector<float>{1, -2, 3, -4, 5, -6});
  const std::vector<float> bias = {1, 1, -10};
  const std::vector<View> operands{written(out)};
  cuda::finish_dense({operands.data(), 1, nullptr}, bias.data(), ActivationKind::relu, false);
  EXPECT_EQ(out.values<float>(), (std::vector<float>{2, 0, 0, 0, 6, 0}));
}

// Products without elements and sums without terms need no cuBLASLt.
TEST(CudaProduct, OfNothingIsTheCpus) {
  for_floating([]<class T>(T) {
    BothBackends()
        .output<T>({2, 3})
        .template random_input<T>({2, 0})
        .template random_input<T>({0, 3})
        .run(Op::matmul, MatmulAttributes())
        .template expect_same_bits<T>();
    for (const ActivationKind activation : {ActivationKind::none, ActivationKind::relu}) {
      BothBackends()
          .output<T>({2, 3})
          .template random_input<T>({2, 0})
          .template random_input<T>({0, 3})
          .template random_input<T>({3})
          .run(Op::dense, DenseAttributes{.activation = activation, .has_bias = true})
          .template expect_same_bits<T>();
    }
    BothBackends()
        .output<T>({0, 3})
        .template random_input<T>({0, 2})
        .template random_input<T>({2, 3})
        .run(Op::matmul, MatmulAttributes())
        .template expect_same_bits<T>();
  });
}

TEST(CudaProduct, RefusesIntegers) {
  const Array out({1, 1}, int64), x({1, 1}, int64), w({1, 1}, int64);
  const std::vector<View> operands{written(out), read(x), read(w)};
  EXPECT_ANY_THROW(run_kernel(cuda_backend(), Op::matmul, operands, MatmulAttributes()));
}

TEST(CudaDenseGrad, IsTheCpus) {
  for (const Shape& shape : {Shape{5, 3}, Shape{200, 70}, Shape{3000, 1}, Shape{9000, 2}, Shape{0, 4}}) {
    SCOPED_TRACE(shape.str());
    for (const ActivationKind activation : {ActivationKind::none, ActivationKind::relu}) {
      for_floating([&]<class T>(T) {
        BothBackends both;
        both.output<T>(shape).template output<T>({shape[1]});
        both.random_input<T>(shape).template random_input<T>(shape);
        both.run(Op::dense_grad, DenseAttributes{.activation = activation, .has_bias = true});
        both.expect_same_bits<T>(0);
        both.expect_close<T>(16, 0.1 * static_cast<double>(shape[0]) + 1, 1);
        BothBackends()
            .output<T>(shape)
            .template random_input<T>(shape)
            .template random_input<T>(shape)
            .run(Op::dense_grad, DenseAttributes{.activation = activation})
            .template expect_same_bits<T>();
      });
    }
  }
}

}  // namespace

}  // namespace asyncgrad::detail
