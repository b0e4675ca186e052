#include <array>
#include <cstdlib>
#include <numeric>

#include "tests/backends/cpu/kernel_runner.h"

namespace asyncgrad::detail {

namespace {

// A copy between a whole tensor of `shape` and elements of one that has `others`.
struct Copy {
  Shape shape;
  std::vector<std::int64_t> strides;
  std::int64_t others, offset = 0;

  StridedCopyAttributes attributes(bool into, bool adds) const {
    StridedCopyAttributes attributes{.offset = offset, .into = into, .adds = adds};
    std::copy(strides.begin(), strides.end(), attributes.strides.begin());
    return attributes;
  }
  // The place in the other tensor of each element of the whole one.
  std::vector<std::size_t> places() const {
    std::vector<std::size_t> result;
    for (std::int64_t position = 0; position < shape.numel(); ++position) {
      std::int64_t place = offset, rest = position;
      for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        place += rest % shape[axis] * strides[static_cast<std::size_t>(axis)];
        rest /= shape[axis];
      }
      result.push_back(static_cast<std::size_t>(place));
    }
    return result;
  }
  bool repeats() const { return std::find(strides.begin(), strides.end(), 0) != strides.end(); }
};

// Copies all axes of a tensor in another order.
Copy exchanged(const Shape& in, const std::vector<int>& axes) {
  Copy copy{{}, {}, in.numel()};
  for (const int axis : axes) {
    std::int64_t stride = 1;
    for (int i = axis + 1; i < in.rank(); ++i) stride *= in[i];
    copy.shape.append(in[axis]);
    copy.strides.push_back(stride);
  }
  return copy;
}

template <class T>
void check(const Copy& copy, bool into, bool adds) {
  SCOPED_TRACE(copy.shape.str() + (into ? " into" : " out of") + (adds ? ", adds" : ""));
  const std::vector<std::size_t> places = copy.places();
  const Shape others{copy.others};
  const std::vector<T> in = random_values<T>(into ? copy.shape.numel() : copy.others, 1, -1e6, 1e6);
  std::vector<T> expected = random_values<T>(into ? copy.others : copy.shape.numel(), 2, -1e6, 1e6);
  const Array out(into ? others : copy.shape, expected), x(into ? copy.shape : others, in);
  run_kernel(Op::strided_copy, {updated(out), read(x)}, copy.attributes(into, adds));
  for (std::size_t i = 0; i < places.size(); ++i) {
    T& to = expected[into ? places[i] : i];
    const T from = in[into ? i : places[i]];
    to = adds ? to + from : from;
  }
  expect_same_bits(out.values<T>(), expected);
}

// Elements that coincide can only be read.
void check_all(const Copy& copy) {
  for (const bool adds : {false, true}) {
    for (const bool into : {false, true}) {
      if (into && copy.repeats()) continue;
      check<float>(copy, into, adds);
      check<double>(copy, into, adds);
      check<std::int64_t>(copy, into, adds);
    }
  }
}

TEST(StridedCopy, ExchangesAnyAxes) {
  check_all(exchanged({}, {}));
  check_all(exchanged({7}, {0}));
  check_all(exchanged({3, 5}, {1, 0}));
  check_all(exchanged({1, 5}, {1, 0}));
  check_all(exchanged({0, 5}, {1, 0}));
  check_all(exchanged({500, 333}, {1, 0}));
  check_all(exchanged({500, 33}, {0, 1}));
  check_all(exchanged({6, 40, 50}, {0, 2, 1}));
  check_all(exchanged({40, 6, 50}, {1, 0, 2}));
  check_all(exchanged({40, 6, 50}, {2, 1, 0}));
  check_all(exchanged({40, 6, 50}, {1, 2, 0}));
  check_all(exchanged({40, 1, 50}, {2, 0, 1}));
  check_all(exchanged({3, 5000}, {1, 0}));
  check_all(exchanged({5000, 3}, {1, 0}));
  check_all(exchanged({2, 3, 4, 5, 6, 7}, {5, 3, 1, 0, 2, 4}));
  check_all(exchanged({2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 4, 5}));
}

TEST(StridedCopy, ReadsAndWritesWithAnyStrides) {
  check_all({{30, 40}, {100, 1}, 3000, 60});                 // columns of a matrix
  check_all({{30, 20}, {100, 2}, 3000, 1});                  // every second one
  check_all({{3, 100000}, {100001, 1}, 300003, 1});          // long rows, of which a tile has a part
  check_all({{60, 70}, {-70, -1}, 4200, 4199});              // backwards
  check_all({{40, 50}, {-1, 40}, 2000, 39});                 // backwards and exchanged
  check_all({{70, 80, 3}, {3, 210, 1}, 80 * 70 * 3});        // short rows
  check_all({{100, 3}, {3, 1}, 400, 5});                     // a stretch
  check_all({{100, 17, 16}, {1, 3200, 200}, 17 * 3200, 3});  // blocks with strides beside them
  check_all({{2, 9000}, {1, 2}, 18000});                     // two columns
  check_all({{9000, 2, 5}, {10, 1, 2}, 90000});              // many small matrices
}

TEST(StridedCopy, RepeatsWhatHasNoStride) {
  check_all({{50, 60}, {0, 1}, 60});
  check_all({{50, 60}, {1, 0}, 50});
  check_all({{7, 5, 6}, {5, 1, 0}, 35});
  check_all({{3, 4, 5, 6}, {0, 6, 0, 1}, 24});
  check_all({{20, 30}, {0, 0}, 1});
}

// As many rows as fill vectors together, a few more or less, and rows that fill vectors or not.
TEST(StridedCopy, RepeatsEachElementInARow) {
  for (const std::int64_t columns : {2, 3, 7, 8, 15, 16, 17, 33, 4097}) {
    for (const std::int64_t rows : {1, 3, 64, 65, 130}) {
      check_all({{rows, columns}, {1, 0}, rows});
      check_all({{rows, columns}, {3, 0}, 3 * rows, 2});
      check_all({{rows, columns}, {-1, 0}, rows, rows - 1});
      check_all({{2, rows, columns}, {1, 2, 0}, 2 * rows});
    }
  }
  check_all({{100'000, 5}, {1, 0}, 100'000});
}

// Random regions of all ranks, with steps, some of them backwards.
TEST(StridedCopy, IsTheLoopForRandomRegions) {
  std::mt19937 random(7);
  const auto draw = [&](int below) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(below)); };
  for (int trial = 0; trial < 300; ++trial) {
    const int rank = 1 + static_cast<int>(draw(6));
    std::vector<int> order(static_cast<std::size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::int64_t> extents(order.size()), strides(order.size());
    Copy copy{{}, {}, 1};
    for (const int axis : order) {
      const auto i = static_cast<std::size_t>(axis);
      const std::int64_t step = 1 + draw(3), before = draw(3);
      extents[i] = 1 + draw(rank <= 2 ? 70 : 6);
      strides[i] = copy.others * step;
      copy.offset += copy.others * before;
      if (draw(4) == 0) {
        copy.offset += (extents[i] - 1) * strides[i];
        strides[i] *= -1;
      }
      copy.others *= before + extents[i] * step;
    }
    copy.shape = Shape(extents);
    copy.strides = strides;
    SCOPED_TRACE("trial " + std::to_string(trial));
    check<float>(copy, false, false);
    check<double>(copy, true, false);
    check<float>(copy, true, true);
  }
}

template <class T>
void check_concat(std::int64_t outer, const std::vector<std::int64_t>& parts) {
  SCOPED_TRACE(outer);
  std::vector<std::vector<T>> values;
  std::vector<Array> inputs;
  for (const std::int64_t part : parts) {
    values.push_back(random_values<T>(outer * part, static_cast<unsigned>(values.size()), -1e6, 1e6));
    inputs.emplace_back(Shape{outer, part}, values.back());
  }
  const Array out(Shape{outer, std::accumulate(parts.begin(), parts.end(), std::int64_t{0})}, dtype_of<T>);
  std::vector<View> views{written(out)};
  for (const Array& input : inputs) views.push_back(read(input));
  run_kernel(Op::concat, views, ConcatAttributes{outer});
  std::vector<T> expected;
  for (std::int64_t row = 0; row < outer; ++row) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto begin = values[i].begin() + row * parts[i];
      expected.insert(expected.end(), begin, begin + parts[i]);
    }
  }
  expect_same_bits(out.values<T>(), expected);
}

TEST(Concat, PutsPartsSideBySide) {
  check_concat<float>(1, {5});
  check_concat<double>(1, {70000, 3, 100000});
  check_concat<float>(300, {1, 1, 1});
  check_concat<std::int64_t>(200, {7, 0, 64, 65, 300});
  check_concat<float>(3, {60000, 70000, 10});
  check_concat<float>(0, {3, 4});
  check_concat<float>(4, {0, 0});
}

}  // namespace

}  // namespace asyncgrad::detail
