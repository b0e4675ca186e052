#include "asyncgrad/backends/cpu/products/bf16_product.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfloat>
#include <string>

#include "product_harness.h"

namespace asyncgrad::detail {
namespace {

// Rounds to the nearest number whose low 16 bits are zero, and to the even one of two that are equally near.
float rounded(float value) {
  const auto below = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xFFFF0000);
  const auto above = std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) & 0xFFFF0000) + 0x10000);
  const float to_below = std::abs(value - below), to_above = std::abs(above - value);
  if (to_below != to_above) return to_below < to_above ? below : above;
  return (std::bit_cast<std::uint32_t>(below) & 0x10000) == 0 ? below : above;
}
std::vector<float> rounded(std::vector<float> values) {
  for (float& value : values) value = rounded(value);
  return values;
}

std::string text(const ReferenceProduct& p) {
  return "m " + std::to_string(p.m) + " n " + std::to_string(p.n) + " k " + std::to_string(p.k) +
         (p.transpose_x ? " x transposed" : "") + (p.transpose_w ? " w transposed" : "");
}

// Tiles end at 16 and 32, their groups at 256, 512 and 1024.
constexpr std::array<std::array<std::int64_t, 3>, 22> extents{
    {{1, 1, 1},      {2, 4, 4},       {3, 5, 7},     {16, 16, 32},   {17, 16, 33}, {16, 17, 31},
     {33, 31, 64},   {48, 80, 96},    {300, 1, 257}, {1, 300, 65},   {1000, 1, 1}, {1, 1, 1000},
     {700, 2, 600},  {129, 130, 131}, {64, 64, 512}, {40, 50, 1025}, {257, 33, 5}, {290, 1030, 70},
     {515, 90, 400}, {33, 2050, 20},  {0, 3, 4},     {3, 4, 0}}};

template <class Check>
void for_all_products(const Check& check) {
  for (const auto& [m, n, k] : extents) {
    for (const bool transpose_x : {false, true}) {
      for (const bool transpose_w : {false, true}) {
        const ReferenceProduct product{m, n, k, transpose_x, transpose_w};
        SCOPED_TRACE(text(product));
        check(product);
      }
    }
  }
}

Shape shape_of_x(const ReferenceProduct& p) { return p.transpose_x ? Shape{p.k, p.m} : Shape{p.m, p.k}; }
Shape shape_of_w(const ReferenceProduct& p) { return p.transpose_w ? Shape{p.n, p.k} : Shape{p.k, p.n}; }

ProductHarness<float> matmul(const ReferenceProduct& p, std::int64_t skipped = 0) {
  ProductHarness<float> harness(Op::matmul, MatmulAttributes{p.transpose_x, p.transpose_w, MathMode::bf16});
  harness.output({p.m, p.n});
  harness.input(shape_of_x(p), numbers<float>(shape_of_x(p), 1), skipped);
  harness.input(shape_of_w(p), numbers<float>(shape_of_w(p), 2), skipped);
  return harness;
}

// Products of bf16 numbers are exact in float32, so that only the sums have errors.
void expect_product_of_rounded(const ReferenceProduct& p, const std::vector<float>& out, const std::vector<float>& x,
                               const std::vector<float>& w) {
  EXPECT_LE(largest_difference(out, reference_product(p, rounded(x), rounded(w))), product_tolerance<float>(p.k));
}

TEST(Bf16ProductTest, IsTheProductOfRoundedOperands) {
  for_all_products([](const ReferenceProduct& p) {
    ProductHarness<float> harness = matmul(p);
    harness.run();
    expect_product_of_rounded(p, harness.values(0), harness.values(1), harness.values(2));
  });
}

TEST(Bf16ProductTest, IsTheSameWithoutTiles) {
  for_all_products([](const ReferenceProduct& p) {
    const std::vector<float> x = numbers<float>(shape_of_x(p), 1), w = numbers<float>(shape_of_w(p), 2);
    std::vector<float> out(static_cast<std::size_t>(p.m * p.n), std::nanf(""));
    std::vector<float> scratch(static_cast<std::size_t>(rounded_scratch_bytes()) / sizeof(float));
    product_of_rounded({.m = p.m,
                        .n = p.n,
                        .k = p.k,
                        .x = x.data(),
                        .x_row = p.transpose_x ? 1 : p.k,
                        .x_column = p.transpose_x ? p.m : 1,
                        .w = w.data(),
                        .w_row = p.transpose_w ? 1 : p.n,
                        .w_column = p.transpose_w ? p.k : 1,
                        .out = out.data(),
                        .out_row = p.n},
                       scratch.data());
    expect_product_of_rounded(p, out, x, w);
  });
}

TEST(Bf16ProductTest, BitsDependOnNeitherThreadNorOrderNorAlignment) {
  for_all_products([](const ReferenceProduct& p) {
    ProductHarness<float> forwards = matmul(p), shifted = matmul(p, 3);
    forwards.run();
    shifted.run();
    EXPECT_TRUE(same_bits(forwards.values(0), shifted.values(0)));
    for (const TileOrder order : {TileOrder::backwards, TileOrder::two_threads}) {
      ProductHarness<float> other = matmul(p);
      other.run(order);
      EXPECT_TRUE(same_bits(forwards.values(0), other.values(0)));
    }
  });
}

TEST(Bf16ProductTest, LargeProductsAreCutIntoTiles) {
  EXPECT_GE(matmul({1024, 512, 128}).tiles(), 2);
  EXPECT_EQ(matmul({32, 10, 64}).tiles(), 1);
}

TEST(Bf16ProductTest, DenseAddsABiasInFloat32) {
  for (const auto& [samples, outputs, inputs] : extents) {
    for (const ActivationKind activation : {ActivationKind::none, ActivationKind::relu}) {
      const ReferenceProduct p{samples, outputs, inputs};
      SCOPED_TRACE(text(p));
      ProductHarness<float> harness(Op::dense, DenseAttributes{activation, true, MathMode::bf16});
      harness.output({p.m, p.n});
      harness.input({p.m, p.k}, numbers<float>({p.m, p.k}, 1));
      harness.input({p.k, p.n}, numbers<float>({p.k, p.n}, 2));
      harness.input({p.n}, numbers<float>({p.n}, 3));
      harness.run();
      const std::vector<double> expected = reference_product(p, rounded(harness.values(1)), rounded(harness.values(2)),
                                                             harness.values(3), activation == ActivationKind::relu);
      EXPECT_LE(largest_difference(harness.values(0), expected), product_tolerance<float>(p.k));
    }
  }
}

TEST(Bf16ProductTest, HugeNumbersAndNotANumberGoThrough) {
  const auto product = [](float x, float w) {
    ProductHarness<float> harness(Op::matmul, MatmulAttributes{false, false, MathMode::bf16});
    harness.output({1, 1});
    harness.input({1, 1}, {x});
    harness.input({1, 1}, {w});
    harness.run();
    return harness.values(0)[0];
  };
  EXPECT_EQ(product(FLT_MAX, 1), INFINITY);  // the nearest of bf16
  EXPECT_EQ(product(-INFINITY, 1), -INFINITY);
  EXPECT_TRUE(std::isnan(product(std::nanf(""), 1)));
  EXPECT_TRUE(std::isnan(product(1, std::bit_cast<float>(0x7F800001))));
  EXPECT_TRUE(std::isnan(product(INFINITY, 0)));
}

TEST(Bf16ProductTest, Float64IsNotAffected) {
  ProductHarness<double> harness(Op::matmul, MatmulAttributes{false, false, MathMode::bf16});
  harness.output({1, 1});
  harness.input({1, 1}, {1.0 / 3});
  harness.input({1, 1}, {1.0});
  harness.run();
  EXPECT_EQ(harness.values(0)[0], 1.0 / 3);
}

}  // namespace
}  // namespace asyncgrad::detail
