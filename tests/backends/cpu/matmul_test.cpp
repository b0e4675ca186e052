#include <gtest/gtest.h>

#include <ostream>

#include "asyncgrad/core/error.h"
#include "product_harness.h"

namespace asyncgrad::detail {

void PrintTo(const ReferenceProduct& p, std::ostream* out) {
  *out << "m " << p.m << " n " << p.n << " k " << p.k << (p.transpose_x ? " x transposed" : "")
       << (p.transpose_w ? " w transposed" : "");
}

namespace {

template <class T>
ProductHarness<T> matmul(const ReferenceProduct& p, std::int64_t skipped = 0) {
  ProductHarness<T> harness(Op::matmul, MatmulAttributes{p.transpose_x, p.transpose_w});
  const Shape x = p.transpose_x ? Shape{p.k, p.m} : Shape{p.m, p.k};
  const Shape w = p.transpose_w ? Shape{p.n, p.k} : Shape{p.k, p.n};
  harness.output({p.m, p.n});
  harness.input(x, numbers<T>(x, 1), skipped);
  harness.input(w, numbers<T>(w, 2), skipped);
  return harness;
}

template <class T>
void expect_right(const ReferenceProduct& p) {
  ProductHarness<T> harness = matmul<T>(p);
  harness.run();
  const std::vector<double> expected = reference_product(p, harness.values(1), harness.values(2));
  EXPECT_LE(largest_difference(harness.values(0), expected), product_tolerance<T>(p.k)) << name(dtype_of<T>);
}

std::vector<ReferenceProduct> with_transposes(std::initializer_list<ReferenceProduct> products) {
  std::vector<ReferenceProduct> all;
  for (const ReferenceProduct& p : products) {
    for (int flags = 0; flags < 4; ++flags) all.push_back({p.m, p.n, p.k, (flags & 1) != 0, (flags & 2) != 0});
  }
  return all;
}

class MatmulShapes : public testing::TestWithParam<ReferenceProduct> {};

TEST_P(MatmulShapes, Float32IsTheReference) { expect_right<float>(GetParam()); }
TEST_P(MatmulShapes, Float64IsTheReference) { expect_right<double>(GetParam()); }

TEST_P(MatmulShapes, BitsDependOnNeitherThreadNorOrderNorAlignment) {
  ProductHarness<float> forwards = matmul<float>(GetParam());
  ProductHarness<float> backwards = matmul<float>(GetParam());
  ProductHarness<float> threads = matmul<float>(GetParam());
  ProductHarness<float> shifted = matmul<float>(GetParam(), 3);
  forwards.run();
  backwards.run(TileOrder::backwards);
  threads.run(TileOrder::two_threads);
  shifted.run();
  EXPECT_TRUE(same_bits(forwards.values(0), backwards.values(0)));
  EXPECT_TRUE(same_bits(forwards.values(0), threads.values(0)));
  EXPECT_TRUE(same_bits(forwards.values(0), shifted.values(0)));
}

// Vectors' ends, panels' ends and the borders between kernels lie at 16, 64, 256 and around.
INSTANTIATE_TEST_SUITE_P(Tiny, MatmulShapes,
                         testing::ValuesIn(with_transposes({{1, 1, 1},
                                                            {2, 4, 4},
                                                            {2, 1, 4},
                                                            {4, 2, 4},
                                                            {3, 5, 7},
                                                            {5, 17, 2},
                                                            {32, 10, 64},
                                                            {32, 64, 64},
                                                            {64, 10, 32}})));
INSTANTIATE_TEST_SUITE_P(Thin, MatmulShapes,
                         testing::ValuesIn(with_transposes({{300, 1, 257},
                                                            {1, 300, 257},
                                                            {300, 257, 1},
                                                            {700, 300, 2},
                                                            {40, 3000, 8},
                                                            {5000, 30, 7},
                                                            {1, 1, 1000},
                                                            {1000, 1, 1},
                                                            {1, 1000, 1},
                                                            {2, 700, 600},
                                                            {700, 2, 600},
                                                            {1024, 1, 512},
                                                            {512, 1, 1024},
                                                            {1024, 512, 1}})));
INSTANTIATE_TEST_SUITE_P(Large, MatmulShapes,
                         testing::ValuesIn(with_transposes(
                             {{129, 130, 131}, {256, 512, 300}, {100, 1030, 513}, {515, 90, 400}, {1024, 24, 1100}})));
INSTANTIATE_TEST_SUITE_P(Empty, MatmulShapes,
                         testing::ValuesIn(with_transposes(
                             {{0, 3, 4}, {3, 0, 4}, {3, 4, 0}, {0, 0, 0}, {1, 1, 0}, {300, 300, 0}, {0, 1, 7}})));

// A product for each index of leading axes, some of which are repeated.
struct Batch {
  ReferenceProduct one;
  Shape x, w, out;  // leading axes
};

Shape with_matrix(Shape leading, std::int64_t rows, std::int64_t columns, bool transposed) {
  leading.append(transposed ? columns : rows);
  leading.append(transposed ? rows : columns);
  return leading;
}

// The matrix that belongs to product `index` of all.
template <class T>
std::vector<T> matrix_of(const std::vector<T>& values, const Shape& leading, const Shape& all, std::int64_t index,
                         std::int64_t size) {
  std::int64_t matrix = 0, stride = 1;
  for (int from_end = 1; from_end <= all.rank(); ++from_end) {
    const std::int64_t at = index % all[-from_end];
    index /= all[-from_end];
    if (from_end > leading.rank()) continue;
    matrix += (leading[-from_end] == 1 ? 0 : at) * stride;
    stride *= leading[-from_end];
  }
  return {values.begin() + matrix * size, values.begin() + (matrix + 1) * size};
}

template <class T>
void check_batch(const Batch& batch) {
  const ReferenceProduct& p = batch.one;
  const auto harness_of = [&] {
    ProductHarness<T> harness(Op::matmul, MatmulAttributes{p.transpose_x, p.transpose_w});
    const Shape x = with_matrix(batch.x, p.m, p.k, p.transpose_x), w = with_matrix(batch.w, p.k, p.n, p.transpose_w);
    harness.output(with_matrix(batch.out, p.m, p.n, false));
    harness.input(x, numbers<T>(x, 1));
    harness.input(w, numbers<T>(w, 2));
    return harness;
  };
  ProductHarness<T> harness = harness_of(), threads = harness_of();
  harness.run();
  threads.run(TileOrder::two_threads);
  EXPECT_TRUE(same_bits(harness.values(0), threads.values(0)));
  for (std::int64_t i = 0; i < batch.out.numel(); ++i) {
    const std::vector<double> expected =
        reference_product(p, matrix_of(harness.values(1), batch.x, batch.out, i, p.m * p.k),
                          matrix_of(harness.values(2), batch.w, batch.out, i, p.k * p.n));
    EXPECT_LE(largest_difference(matrix_of(harness.values(0), batch.out, batch.out, i, p.m * p.n), expected),
              product_tolerance<T>(p.k))
        << name(dtype_of<T>) << " product " << i;
  }
}

TEST(MatmulTest, LeadingAxesAreBroadcast) {
  for (const ReferenceProduct& p :
       with_transposes({{2, 3, 4}, {1, 5, 7}, {70, 33, 40}, {3, 4, 0}, {150, 1, 64}, {1, 130, 20}, {160, 170, 180}})) {
    for (const Batch& batch : {Batch{p, {3, 2}, {3, 2}, {3, 2}}, Batch{p, {2}, {4, 1}, {4, 2}}, Batch{p, {}, {5}, {5}},
                               Batch{p, {3, 1, 2}, {1, 3, 1}, {3, 3, 2}}}) {
      check_batch<float>(batch);
      check_batch<double>(batch);
    }
  }
  check_batch<float>({{3, 4, 5}, {0}, {0}, {0}});
  check_batch<float>({{0, 4, 5}, {2}, {2}, {2}});
}

TEST(MatmulTest, ManySmallProductsShareATile) {
  ProductHarness<float> harness(Op::matmul, MatmulAttributes{});
  harness.output({1000, 4, 4});
  harness.input({1000, 4, 4}, numbers<float>({1000, 4, 4}, 1));
  harness.input({1000, 4, 4}, numbers<float>({1000, 4, 4}, 2));
  EXPECT_EQ(harness.tiles(), 5);
}

TEST(MatmulTest, LargeProductsAreCutIntoTiles) {
  EXPECT_GE(matmul<float>({1024, 512, 128}).tiles(), 2);
  EXPECT_GE(matmul<float>({1024, 1, 512}).tiles(), 2);
  EXPECT_EQ(matmul<float>({96, 96, 96}).tiles(), 2);
  EXPECT_GE(matmul<double>({256, 256, 256}).tiles(), 2);
  EXPECT_EQ(matmul<float>({32, 10, 64}).tiles(), 1);
}

TEST(MatmulTest, IntegersThrowBeforeAnythingIsWritten) {
  ProductHarness<std::int64_t> harness(Op::matmul, MatmulAttributes{});
  harness.output({2, 2});
  harness.input({2, 2}, {1, 2, 3, 4});
  harness.input({2, 2}, {1, 2, 3, 4});
  try {
    harness.run();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[matmul] is not for int64");
  }
}

TEST(MatmulTest, NotANumberGoesThrough) {
  ProductHarness<float> harness(Op::matmul, MatmulAttributes{});
  harness.output({1, 2});
  harness.input({1, 2}, {0.0F, 1.0F});
  harness.input({2, 2}, {std::nanf(""), 1.0F, 1.0F, 1.0F});
  harness.run();
  EXPECT_TRUE(std::isnan(harness.values(0)[0]));
  EXPECT_EQ(harness.values(0)[1], 1.0F);
}

}  // namespace
}  // namespace asyncgrad::detail
