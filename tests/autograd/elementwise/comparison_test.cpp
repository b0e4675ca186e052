// Comparisons, logical operations, and what masks of bool are for.
#include <limits>

#include "tests/autograd/support.h"

namespace asyncgrad::tests {
namespace {

using Bools = std::vector<bool>;
Bools bools(const Tensor& tensor) { return tensor.to_vector<bool>(); }
Tensor mask_of(const std::vector<bool>& values) {
  return Tensor::from(values, {static_cast<std::int64_t>(values.size())});
}

const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();

TEST(Comparison, IsThatOfEveryPair) {
  for (const DType dtype : {float32, float64, int64}) {
    const Tensor x = float64_tensor({1, 2, 3}, {3}).to(dtype), y = float64_tensor({2, 2, 2}, {3}).to(dtype);
    EXPECT_EQ(bools(x < y), (Bools{true, false, false}));
    EXPECT_EQ(bools(x <= y), (Bools{true, true, false}));
    EXPECT_EQ(bools(x > y), (Bools{false, false, true}));
    EXPECT_EQ(bools(x >= y), (Bools{false, true, true}));
    EXPECT_EQ(bools(x == y), (Bools{false, true, false}));
    EXPECT_EQ(bools(x != y), (Bools{true, false, true}));
    EXPECT_EQ((x < y).dtype(), boolean);
    EXPECT_EQ(bools(x <= 2), bools(x <= y));
    EXPECT_EQ(bools(2 <= x), bools(y <= x));
    EXPECT_EQ(bools(2 < x), bools(y < x));
    EXPECT_EQ(bools(2 > x), bools(y > x));
    EXPECT_EQ(bools(2 >= x), bools(y >= x));
    EXPECT_EQ(bools(2 == x), bools(y == x));
    EXPECT_EQ(bools(2 != x), bools(y != x));
  }
}

TEST(Comparison, WithNaNHoldsForNotEqualAlone) {
  const Tensor x = float64_tensor({nan, nan, 1}, {3}), y = float64_tensor({nan, 1, nan}, {3});
  for (const Tensor& none : {x<y, x <= y, x> y, x >= y, x == y}) EXPECT_EQ(bools(none), (Bools{false, false, false}));
  EXPECT_EQ(bools(x != y), (Bools{true, true, true}));
  EXPECT_EQ(bools(isnan(x)), (Bools{true, true, false}));
  EXPECT_EQ(bools(isfinite(float64_tensor({nan, infinity, -infinity, 1e300}, {4}))),
            (Bools{false, false, false, true}));
  EXPECT_EQ(bools(isnan(int64_tensor({1}, {1}))), (Bools{false}));
  EXPECT_EQ(bools(isfinite(mask_of({true, false}))), (Bools{true, true}));
}

TEST(Comparison, Broadcasts) {
  const Tensor x = float64_tensor({1, 2, 3}, {3, 1}), y = float64_tensor({1, 2}, {2});
  EXPECT_EQ((x > y).shape(), Shape(3, 2));
  EXPECT_EQ(bools(x > y), (Bools{false, false, true, false, true, true}));
  EXPECT_EQ((zeros({0, 3}) < ones({3})).shape(), Shape(0, 3));
  EXPECT_EQ(message_of([&] { less(ones({2}), ones({3})); }),
            "[less] shapes do not broadcast: x (2), y (3); from the last axis on, extents are to be equal or 1");
  EXPECT_EQ(message_of([&] { less(ones({2}), ones({2}, {.dtype = int64})); }),
            "[less] types differ: x float32 (2), y int64 (2); y.to(ag::float32) converts y");
  EXPECT_EQ(message_of([&] { less(ones({2}, {.dtype = int64}), 0.5); }), "[less] int64 cannot hold 0.5; float32 does");
}

// The tensors are long enough for whole vectors, several tiles and a rest.
TEST(Comparison, IsRightEverywhere) {
  const Tensor x = random64({70003}, 1), y = random64({70003}, 2);
  for (const DType dtype : {float32, float64}) {
    const std::vector<double> a = values(x.to(dtype)), b = values(y.to(dtype));
    const Bools found = bools(x.to(dtype) < y.to(dtype)), beside = bools(x.to(dtype) <= 0.25);
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(found[i], a[i] < b[i]) << i;
      ASSERT_EQ(beside[i], a[i] <= 0.25) << i;
    }
  }
}

TEST(Comparison, HasNoGradient) {
  const Tensor x = parameter(ones({2}));
  EXPECT_FALSE((x > 0).requires_grad());
  EXPECT_FALSE(isnan(x).requires_grad());
}

TEST(Logical, OperationsAreThoseOfTheirTables) {
  const Tensor x = mask_of({false, false, true, true}), y = mask_of({false, true, false, true});
  EXPECT_EQ(bools(x & y), (Bools{false, false, false, true}));
  EXPECT_EQ(bools(x | y), (Bools{false, true, true, true}));
  EXPECT_EQ(bools(x ^ y), (Bools{false, true, true, false}));
  EXPECT_EQ(bools(!x), (Bools{true, true, false, false}));
  EXPECT_EQ(bools(~x), bools(!x));
  EXPECT_EQ(bools(x == y), bools(!(x ^ y)));
  EXPECT_EQ(bools(x != y), bools(x ^ y));
  EXPECT_EQ(bools(x < y), (Bools{false, true, false, false}));
  const Tensor a = float64_tensor({0, 0, nan, -2}, {4}), b = float64_tensor({0, 3, 0, 3}, {4});
  EXPECT_EQ(bools(logical_and(a, b)), bools(x & y));
  EXPECT_EQ(bools(logical_or(a, b)), bools(x | y));
  EXPECT_EQ(bools(logical_xor(a, b)), bools(x ^ y));
  EXPECT_EQ(bools(logical_not(a)), bools(!x));
  EXPECT_EQ((mask_of({true, false}).reshape({2, 1}) & x).shape(), Shape(2, 4));
  EXPECT_EQ(bools(mask_of({true, false}).reshape({2, 1}) & x.slice(1, 3)), (Bools{false, true, false, false}));
  EXPECT_EQ(message_of([&] { a& x; }), "[&] is for bool, compare with 0 first: x float64 (4)");
}

// Bools of short rows are broadcast.
TEST(Logical, OperationsBroadcastBytes) {
  const Tensor x = random64({300, 7}, 1) > 0, column = random64({300, 1}, 2) > 0;
  const Bools all = bools(x), some = bools(column), found = bools(x & column);
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(found[i], all[i] && some[i / 7]) << i;
}

TEST(Bools, TakeTheTypeOfTheOtherSide) {
  const Tensor x = parameter(float64_tensor({-1, 2, -3}, {3}));
  const Tensor y = x * (x > 0);
  EXPECT_EQ(values(y), (std::vector<double>{-0.0, 2, -0.0}));
  sum(y).backward();
  EXPECT_EQ(values(x.grad()), (std::vector<double>{0, 1, 0}));
  const Tensor mask = mask_of({true, false});
  EXPECT_EQ((mask + int64_tensor({5, 6}, {2})).to_vector<std::int64_t>(), (std::vector<std::int64_t>{6, 6}));
  EXPECT_EQ((1 - mask).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ((mask * 0.5).to_vector<float>(), (std::vector<float>{0.5F, 0}));
  EXPECT_EQ(bools(mask == 1), (Bools{true, false}));
  EXPECT_EQ(message_of([&] { mask + mask; }), "[add] bool is for storage: x bool (2); x.to(ag::int64) converts it");
  EXPECT_EQ(message_of([&] { -mask; }), "[negate] bool is for storage: x bool (2); x.to(ag::int64) converts it");
  Tensor in_place = ones({2});
  in_place *= mask;
  EXPECT_EQ(values(in_place), (std::vector<double>{1, 0}));
  EXPECT_EQ(message_of([&] { mask.clone() *= ones({2}); }),
            "[*=] types differ: x bool (2), y float32 (2); x.to(ag::float32) converts x");
}

TEST(Bools, AreCounted) {
  const Tensor mask = mask_of({true, false, true, true, false, true}).reshape({2, 3});
  EXPECT_EQ(sum(mask).dtype(), int64);
  EXPECT_EQ(sum(mask).item(), 4);
  EXPECT_EQ(sum(mask, 0).to_vector<std::int64_t>(), (std::vector<std::int64_t>{2, 0, 2}));
  EXPECT_EQ(mean(mask).dtype(), float32);
  EXPECT_EQ(mean(mask, 1, true).shape(), Shape(2, 1));
  EXPECT_FLOAT_EQ(static_cast<float>(mean(mask).item()), 4.0F / 6);
  EXPECT_EQ(cumsum(mask, 1).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 1, 2, 1, 1, 2}));
}

TEST(Bools, Select) {
  const Tensor mask = mask_of({true, false});
  const Tensor x = parameter(float64_tensor({1, 2}, {2})), y = parameter(float64_tensor({10, 20, 30, 40}, {2, 2}));
  const Tensor z = where(mask, x, y);
  EXPECT_EQ(values(z), (std::vector<double>{1, 20, 1, 40}));
  sum(z).backward();
  EXPECT_EQ(values(x.grad()), (std::vector<double>{2, 0}));
  EXPECT_EQ(values(y.grad()), (std::vector<double>{0, 1, 0, 1}));
  EXPECT_EQ(bools(where(mask, mask, !mask)), (Bools{true, true}));
  EXPECT_EQ(values(masked_fill(y, mask, -1)), (std::vector<double>{-1, 20, -1, 40}));
  EXPECT_EQ(values(masked_fill(int64_tensor({1, 2}, {2}), mask, 7)), (std::vector<double>{7, 2}));
  EXPECT_EQ(bools(masked_fill(mask, mask, 0)), (Bools{false, false}));
  EXPECT_NE(message_of([&] { masked_fill(x, ones({3}, {.dtype = boolean}), 0); }).find("cannot be repeated"),
            std::string::npos);
}

TEST(AnyAndAll, LookAtEveryElement) {
  const Tensor mask = mask_of({true, false, true, true, true, true}).reshape({2, 3});
  EXPECT_EQ(bools(any(mask)), Bools{true});
  EXPECT_EQ(bools(all(mask)), Bools{false});
  EXPECT_EQ(bools(all(mask, 1)), (Bools{false, true}));
  EXPECT_EQ(bools(all(mask, 0)), (Bools{true, false, true}));
  EXPECT_EQ(bools(any(!mask, 0, true)), (Bools{false, true, false}));
  EXPECT_EQ(any(!mask, 0, true).shape(), Shape(1, 3));
  EXPECT_EQ(bools(any(float64_tensor({0, -0.0, nan}, {3}))), Bools{true});
  EXPECT_EQ(bools(all(float64_tensor({1, nan}, {2}))), Bools{true});
  EXPECT_EQ(bools(all(int64_tensor({1, 0}, {2}))), Bools{false});
  EXPECT_EQ(bools(all(ones({}, {.dtype = boolean}))), Bools{true});
}

TEST(AnyAndAll, OfNothing) {
  const Tensor nothing = zeros({0, 3}, {.dtype = boolean});
  EXPECT_EQ(bools(any(nothing)), Bools{false});
  EXPECT_EQ(bools(all(nothing)), Bools{true});
  EXPECT_EQ(bools(any(nothing, 0)), (Bools{false, false, false}));
  EXPECT_EQ(bools(all(nothing, 0)), (Bools{true, true, true}));
  EXPECT_EQ(any(nothing, 1).shape(), Shape(0));
  EXPECT_EQ(message_of([&] { any(nothing, 2); }), "[any] there is no axis 2 in (0, 3); axes are -2 to 1");
}

TEST(AnyAndAll, AgreeWithSums) {
  for (const Shape& shape : {Shape{3, 1000, 5}, Shape{40, 3000}, Shape{2, 70000}, Shape{7, 4, 600}}) {
    Generator generator(3);
    const Tensor mask = bernoulli(0.001, shape, {.generator = &generator});
    for (const Axes& axes : {Axes(0), Axes(1), Axes(-1), Axes({0, -1}), Axes({0, 1})}) {
      const Tensor count = sum(mask, axes);
      EXPECT_EQ(bools(any(mask, axes)), bools(count > 0));
      EXPECT_EQ(bools(all(!mask, axes)), bools(count == 0));
    }
  }
}

}  // namespace
}  // namespace asyncgrad::tests
