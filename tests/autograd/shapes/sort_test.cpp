#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/autograd/support.h"

namespace asyncgrad::tests {
namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
using Places = std::vector<std::int64_t>;

// The places of a line's elements in their order, written plainly.
Places reference(const std::vector<double>& line, bool descending) {
  Places places(line.size());
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(), [&](std::int64_t a, std::int64_t b) {
    const double x = line[static_cast<std::size_t>(a)], y = line[static_cast<std::size_t>(b)];
    return descending ? x > y : x < y;
  });
  return places;
}

TEST(Sort, IsStableAlongEveryAxis) {
  const Tensor x = randint(-5, 5, {7, 9, 11});
  for (const bool descending : {false, true}) {
    for (int axis = 0; axis < 3; ++axis) {
      for (const DType dtype : {float32, float64, int64}) {
        SCOPED_TRACE(axis);
        const Tensor typed = x.to(dtype);
        const Tensor last = typed.transpose(axis, 2), places = argsort(typed, {axis, descending}).transpose(axis, 2);
        const std::vector<double> lines = last.to(float64).to_vector<double>();
        const Places sorted = places.to_vector<std::int64_t>();
        const auto length = static_cast<std::size_t>(x.size(axis));
        for (std::size_t first = 0; first < lines.size(); first += length) {
          const auto at = static_cast<std::ptrdiff_t>(first), end = static_cast<std::ptrdiff_t>(first + length);
          EXPECT_EQ(Places(sorted.begin() + at, sorted.begin() + end),
                    reference({lines.begin() + at, lines.begin() + end}, descending));
        }
        const SortResult both = sort(typed, {axis, descending});
        EXPECT_EQ(both.indices.to_vector<std::int64_t>(), argsort(typed, {axis, descending}).to_vector<std::int64_t>());
        EXPECT_EQ(values(both.values), values(gather(typed, both.indices, axis)));
      }
    }
  }
}

TEST(Sort, NaNCountsAsTheLargest) {
  const Tensor x = Tensor::from<double>({2, no_number, -1, no_number, 5}, {5});
  EXPECT_EQ(argsort(x).to_vector<std::int64_t>(), (Places{2, 0, 4, 1, 3}));
  EXPECT_EQ(argsort(x, {.descending = true}).to_vector<std::int64_t>(), (Places{1, 3, 4, 0, 2}));
  EXPECT_EQ(topk(x, 2, {.largest = false}).values.to_vector<double>(), (std::vector<double>{-1, 2}));
}

TEST(Topk, IsTheBeginningOfTheOrder) {
  const Tensor x = randint(-20, 20, {6, 50, 4}).to(float32);
  for (const bool largest : {false, true}) {
    const Tensor all = argsort(x, {.axis = 1, .descending = largest});
    for (const std::int64_t count : {0, 1, 7, 49, 50}) {
      const SortResult first = topk(x, count, {.axis = 1, .largest = largest});
      EXPECT_EQ(first.values.shape(), Shape(6, count, 4));
      EXPECT_EQ(first.indices.to_vector<std::int64_t>(), slice(all, 1, 0, count).to_vector<std::int64_t>());
    }
  }
}

TEST(Topk, RefusesWhatDoesNotFit) {
  EXPECT_EQ(message_of([] {
              topk(ones({2, 3}), 4);
            }),
            "[topk] count must be in [0, 3], the extent of axis 1 of x (2, 3), got 4");
  EXPECT_EQ(message_of([] { topk(ones({2, 3}), -1); }), "[topk] count must not be negative, got -1");
  EXPECT_EQ(message_of([] {
              sort(ones({2, 3}), {.axis = 2});
            }),
            "[sort] there is no axis 2 in (2, 3); axes are -2 to 1");
  EXPECT_THAT(message_of([] { argsort(ones({2}, {.dtype = boolean})); }), ::testing::StartsWith("[argsort]"));
  EXPECT_EQ(sort(ones({0, 3})).values.shape(), Shape(0, 3));
  EXPECT_EQ(sort(ones({3, 0})).indices.shape(), Shape(3, 0));
}

TEST(IndexAdd, AddsRowsInTheirOrder) {
  const Tensor x = zeros({3, 2}, {.dtype = float64});
  const Tensor source = arange(1, 9, 1, {.dtype = float64}).reshape({4, 2});
  const Tensor indices = Tensor::from<std::int64_t>({2, 0, 2, 2}, {4});
  EXPECT_EQ(index_add(x, indices, source, 0).to_vector<double>(), (std::vector<double>{3, 4, 0, 0, 13, 16}));
  EXPECT_EQ(values(x), std::vector<double>(6, 0));
  EXPECT_THAT(message_of([&] {
                index_add(x, indices, source.reshape({2, 4}), 0);
              }),
              ::testing::HasSubstr("source must have x's shape but for axis 0"));
}

// NumPy shares such memory as bools.
TEST(Selection, TakesEveryByteButZeroForTrue) {
  std::vector<std::uint8_t> bytes(1000, 255);
  bytes[10] = 0;
  bytes[999] = 1;
  const Tensor mask = from_host_memory(bytes.data(), boolean, {1000}, nullptr);
  EXPECT_EQ(nonzero(mask).shape(), Shape(999, 1));
  EXPECT_EQ(masked_select(arange(0, 1000), mask).numel(), 999);
  EXPECT_EQ(sum(mask).item(), 999);
  EXPECT_EQ(sum(mask.slice(0, 20)).item(), 19);
  EXPECT_EQ(sum(mask.reshape({500, 2}), {0}).to_vector<std::int64_t>(), (Places{499, 500}));
}

TEST(Selection, WaitsForValues) {
  const Tensor x = Tensor::from<double>({0, 3, -1, 0, no_number, 3}, {2, 3});
  EXPECT_EQ(nonzero(x).to_vector<std::int64_t>(), (Places{0, 1, 0, 2, 1, 1, 1, 2}));
  EXPECT_EQ(nonzero(zeros({2, 2})).shape(), Shape(0, 2));
  Tensor leaf = parameter(x.clone());
  const Tensor chosen = masked_select(leaf, x > 0);
  EXPECT_EQ(chosen.to_vector<double>(), (std::vector<double>{3, 3}));
  sum(chosen * chosen).backward();
  EXPECT_EQ(leaf.grad().to_vector<double>(), (std::vector<double>{0, 6, 0, 0, 0, 6}));
  EXPECT_EQ(message_of([&] { masked_select(x, ones({2}, {.dtype = boolean})); }),
            "[masked_select] needs a mask of bool of x's shape: x float64 (2, 3), mask bool (2)");
  const UniqueResult parts = unique(Tensor::from<std::int64_t>({5, 2, 5, 9, 2, 5}, {2, 3}));
  EXPECT_EQ(parts.values.to_vector<std::int64_t>(), (Places{2, 5, 9}));
  EXPECT_EQ(parts.counts.to_vector<std::int64_t>(), (Places{2, 3, 1}));
  EXPECT_EQ(parts.inverse.shape(), Shape(2, 3));
  EXPECT_EQ(parts.inverse.to_vector<std::int64_t>(), (Places{1, 0, 1, 2, 0, 1}));
}

}  // namespace
}  // namespace asyncgrad::tests
