#include <algorithm>
#include <limits>
#include <string>

#include "asyncgrad/core/error.h"
#include "tests/backends/cpu/kernel_runner.h"

namespace asyncgrad::detail {

namespace {

std::vector<std::int64_t> scattered_indices(std::int64_t count, std::int64_t rows) {
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < count; ++i) indices.push_back(i * i % rows);
  return indices;
}

template <class T>
void check_take(const IndexAttributes& seen, std::int64_t count) {
  const std::vector<T> in = random_values<T>(seen.outer * seen.axis * seen.inner, 1, -100, 100);
  const std::vector<std::int64_t> indices = scattered_indices(count, seen.axis);
  const Array out({seen.outer, count, seen.inner}, dtype_of<T>), x({seen.outer, seen.axis, seen.inner}, in),
      k(count, indices);
  run_kernel(Op::take, {written(out), read(x), read(k)}, seen);
  std::vector<T> expected;
  for (std::int64_t o = 0; o < seen.outer; ++o) {
    for (const std::int64_t index : indices) {
      const auto begin = in.begin() + (o * seen.axis + index) * seen.inner;
      expected.insert(expected.end(), begin, begin + seen.inner);
    }
  }
  expect_same_bits(out.values<T>(), expected);
}

TEST(Take, CopiesRows) {
  check_take<float>({1, 10, 7}, 25);
  check_take<double>({1, 3, 100}, 2000);
  check_take<std::int64_t>({1, 10, 1}, 5);
  check_take<float>({5000, 10, 1}, 30);
  check_take<double>({7, 4, 6}, 3);
  check_take<float>({1, 10, 7}, 0);
  check_take<float>({1, 10, 0}, 3);
  check_take<float>({0, 10, 3}, 3);
}

template <class T>
void check_take_grad(const IndexAttributes& seen, std::int64_t count) {
  std::vector<T> expected = random_values<T>(seen.outer * seen.axis * seen.inner, 1);
  const std::vector<T> gradients = random_values<T>(seen.outer * count * seen.inner, 2);
  const std::vector<std::int64_t> indices = scattered_indices(count, seen.axis);
  const Array dx({seen.outer, seen.axis, seen.inner}, expected), k(count, indices),
      dy({seen.outer, count, seen.inner}, gradients);
  run_kernel(Op::take_grad, {updated(dx), read(k), read(dy)}, seen);
  std::size_t next = 0;
  for (std::int64_t o = 0; o < seen.outer; ++o) {
    for (const std::int64_t index : indices) {
      for (std::int64_t i = 0; i < seen.inner; ++i) {
        expected[static_cast<std::size_t>((o * seen.axis + index) * seen.inner + i)] += gradients[next++];
      }
    }
  }
  expect_same_bits(dx.values<T>(), expected);
}

TEST(TakeGrad, AddsRowsInTheirOrder) {
  check_take_grad<float>({1, 10, 7}, 25);
  check_take_grad<float>({1, 5, 300}, 3000);
  check_take_grad<double>({1, 1, 1}, 1000);
  check_take_grad<float>({3000, 9, 2}, 20);
  check_take_grad<double>({1, 10, 3}, 0);
  check_take_grad<float>({1, 10, 0}, 3);
  check_take_grad<float>({0, 10, 3}, 3);
}

// Every element of (outer, count, inner) has an index of its own.
template <class T>
void check_gather_and_scatter(const IndexAttributes& seen, std::int64_t count) {
  const Shape many{seen.outer, count, seen.inner}, few{seen.outer, seen.axis, seen.inner};
  const std::vector<std::int64_t> indices = scattered_indices(many.numel(), seen.axis);
  const std::vector<T> in = random_values<T>(few.numel(), 1, -100, 100),
                       source = random_values<T>(many.numel(), 2, -100, 100);
  std::vector<T> gathered, added = in;
  std::size_t next = 0;
  for (std::int64_t o = 0; o < seen.outer; ++o) {
    for (std::int64_t k = 0; k < count; ++k) {
      for (std::int64_t i = 0; i < seen.inner; ++i, ++next) {
        const auto at = static_cast<std::size_t>((o * seen.axis + indices[next]) * seen.inner + i);
        gathered.push_back(in[at]);
        added[at] += source[next];
      }
    }
  }
  const Array out(many, dtype_of<T>), x(few, in), k(many, indices), sums(few, in), s(many, source);
  run_kernel(Op::gather, {written(out), read(x), read(k)}, seen);
  expect_same_bits(out.values<T>(), gathered);
  run_kernel(Op::scatter_add, {updated(sums), read(k), read(s)}, seen);
  expect_same_bits(sums.values<T>(), added);
}

TEST(GatherAndScatterAdd, FollowEachElementsIndex) {
  check_gather_and_scatter<float>({1, 10, 7}, 25);
  check_gather_and_scatter<double>({3, 5, 300}, 700);
  check_gather_and_scatter<std::int64_t>({9, 4, 1}, 5);
  check_gather_and_scatter<float>({110, 7, 1}, 999);
  check_gather_and_scatter<double>({2, 5, 3000}, 3);
  check_gather_and_scatter<float>({4000, 10, 2}, 30);
  check_gather_and_scatter<float>({1, 10, 7}, 0);
  check_gather_and_scatter<float>({0, 10, 7}, 3);
}

TEST(GatherAndScatterAdd, TakeOneElementOfEachRow) { check_gather_and_scatter<float>({70001, 10, 1}, 1); }
TEST(GatherAndScatterAdd, SumsOfIntegersWrapAround) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const Array sums({1}, std::vector<std::int64_t>{1}), places({2}, std::vector<std::int64_t>{0, 0}),
      source({2}, std::vector<std::int64_t>{most, most});
  run_kernel(Op::scatter_add, {updated(sums), read(places), read(source)},
             IndexAttributes{.outer = 1, .axis = 1, .inner = 1});
  run_kernel(Op::take_grad, {updated(sums), read(places), read(source)},
             IndexAttributes{.outer = 1, .axis = 1, .inner = 1});
  EXPECT_EQ(sums.values<std::int64_t>()[0], -3);  // 1 + 4 (2^63 - 1)
}

TEST(Put, WritesTheLastValueOfEachIndex) {
  for (const std::int64_t count : {0, 1, 25, 3000}) {
    const std::vector<std::int64_t> indices = scattered_indices(count, 70);
    const std::vector<float> values = random_values<float>(count, 1);
    std::vector<float> expected(70, 7);
    const Array out({70}, expected), k({count}, indices), in({count}, values);
    for (std::size_t i = 0; i < indices.size(); ++i) expected[static_cast<std::size_t>(indices[i])] = values[i];
    run_kernel(Op::put, {updated(out), read(k), read(in)}, 0);
    expect_same_bits(out.values<float>(), expected);
  }
}

TEST(OneHot, MarksTheIndex) {
  const std::vector<std::int64_t> indices = scattered_indices(3000, 50);
  const Array k(Shape{3, 1000}, indices), out({3, 1000, 50}, float64);
  run_kernel(Op::one_hot, {written(out), read(k)}, 0);
  std::vector<double> expected(3000 * 50);
  for (std::size_t i = 0; i < indices.size(); ++i) expected[i * 50 + static_cast<std::size_t>(indices[i])] = 1;
  expect_same_bits(out.values<double>(), expected);
}

TEST(Triangle, KeepsOneSideOfTheDiagonal) {
  const Shape shape{3, 70, 40};
  const std::vector<float> in = random_values<float>(shape.numel(), 1);
  for (const std::int64_t diagonal : {-100, -69, -3, 0, 2, 39, 100}) {
    for (const bool is_upper : {false, true}) {
      const Array x(shape, in), out(shape, float32);
      run_kernel(Op::triangle, {written(out), read(x)}, TriangleAttributes{diagonal, is_upper});
      std::vector<float> expected;
      for (std::int64_t i = 0; i < shape.numel(); ++i) {
        const std::int64_t beyond = i % 40 - i / 40 % 70 - diagonal;
        expected.push_back((is_upper ? beyond >= 0 : beyond <= 0) ? in[static_cast<std::size_t>(i)] : 0);
      }
      expect_same_bits(out.values<float>(), expected);
    }
  }
}

TEST(FirstPlaces, AreTheFirstWithTheSameIndex) {
  for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{7}, std::int64_t{1000}, std::int64_t{1} << 62}) {
    for (const std::int64_t count : {0, 1, 2, 63, 5000}) {
      std::vector<std::int64_t> indices = scattered_indices(count, rows), expected;
      for (std::int64_t& index : indices) index = rows - 1 - index;
      const Array out(count, int64), k(count, indices);
      run_kernel(Op::first_places, {written(out), read(k)}, IndexAttributes{.axis = rows});
      for (const std::int64_t index : indices) {
        expected.push_back(std::ranges::find(indices, index) - indices.begin());
      }
      expect_same_bits(out.values<std::int64_t>(), expected);
    }
  }
  const Array out(2, int64), outside(Shape{2}, std::vector<std::int64_t>{0, 3});
  try {
    run_kernel(Op::first_places, {written(out), read(outside)}, IndexAttributes{.axis = 3});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[first_places] index 3 at position 1 is outside 3 rows, which are numbered from 0");
  }
}

TEST(Take, RefusesIndicesOutsideTheRows) {
  const Array x({10, 2}, std::vector<float>(20, 1)), out({4, 2}, float32);
  const std::vector<float> before = out.values<float>();
  const IndexAttributes seen{1, 10, 2};
  for (const std::int64_t wrong : {std::int64_t{12}, std::int64_t{10}, std::int64_t{-1}}) {
    const Array indices(Shape{4}, std::vector<std::int64_t>{0, 9, 3, wrong});
    const std::string message =
        "index " + std::to_string(wrong) + " at position 3 is outside 10 rows, which are numbered from 0";
    try {
      run_kernel(Op::take, {written(out), read(x), read(indices)}, seen);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), "[take] " + message);
    }
    try {
      run_kernel(Op::take_grad, {updated(x), read(indices), read(out)}, seen);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), "[take_grad] " + message);
    }
  }
  expect_same_bits(out.values<float>(), before);
  expect_same_bits(x.values<float>(), std::vector<float>(20, 1));
}

// Each tile checks its own indices; the error is that of the first one of all.
TEST(Gather, NamesTheFirstIndexOutside) {
  constexpr std::int64_t count = 200000;
  const Array x(Shape{10}, std::vector<float>(10, 1)), out(Shape{count}, float32);
  for (const std::int64_t first : {std::int64_t{5}, std::int64_t{70000}, std::int64_t{199999}}) {
    std::vector<std::int64_t> indices(count, 3);
    indices[static_cast<std::size_t>(first)] = 10;
    indices.back() = -1;
    const std::int64_t wrong = first + 1 == count ? -1 : 10;
    try {
      run_kernel(Op::gather, {written(out), read(x), read(Array(Shape{count}, indices))}, IndexAttributes{1, 10, 1});
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), "[gather] index " + std::to_string(wrong) + " at position " + std::to_string(first) +
                                  " is outside 10 rows, which are numbered from 0");
    }
  }
}

}  // namespace

}  // namespace asyncgrad::detail
