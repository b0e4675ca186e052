#include <algorithm>
#include <cmath>

#include "tests/backends/cpu/update_harness.h"

namespace asyncgrad::detail {

namespace {

// The sizes are around a vector and a cache line, zero, and larger than a tile.
const std::vector<Shape> shapes = {Shape{},   Shape{0},     Shape{300, 250}, Shape{7},    Shape{15},
                                   Shape{16}, Shape{65537}, Shape{17},       Shape{1000}, Shape{3, 5, 7}};

// Runs one step by the kernel, on arrays of their own.
template <class Rule, class T>
void step(UpdateLists<Rule, T>& lists) {
  std::vector<Array> arrays;
  std::vector<View> operands;
  for (const auto& list : lists.updated) {
    for (std::size_t i = 0; i < list.size(); ++i) arrays.emplace_back(lists.shapes[i], list[i]);
  }
  if (Rule::counts_steps) {
    for (const auto& counts : lists.counts) {
      arrays.emplace_back(Shape{static_cast<std::int64_t>(counts.size())}, counts);
    }
  }
  for (const Array& array : arrays) operands.push_back(updated(array));
  std::vector<Array> gradients;
  for (std::size_t i = 0; i < lists.shapes.size(); ++i) gradients.emplace_back(lists.shapes[i], lists.gradients[i]);
  for (const Array& gradient : gradients) operands.push_back(read(gradient));
  EXPECT_EQ(run_kernel(Op::update, operands, lists.attributes()), 3);
  auto array = arrays.begin();
  for (auto& list : lists.updated) {
    for (auto& values : list) values = (array++)->template values<T>();
  }
  for (auto& counts : lists.counts) {
    if (Rule::counts_steps) counts = (array++)->template values<std::int64_t>();
  }
}

TEST(Update, HasTheBitsOfItsFormulaEverywhere) {
  for_every_rule([]<class Rule, class T>() {
    UpdateLists<Rule, T> lists(shapes), expected = lists;
    step(lists);
    expected.step_plainly();
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      for (std::size_t k = 0; k < lists.updated.size(); ++k) {
        SCOPED_TRACE(testing::Message() << "list " << k << ", parameter " << i);
        expect_same_bits(lists.updated[k][i], expected.updated[k][i]);
      }
      if (Rule::counts_steps) {
        EXPECT_EQ(lists.counts[i], expected.counts[i]);
      }
    }
  });
}

TEST(Update, OfNoParametersDoesNothing) {
  for_every_rule([]<class Rule, class T>() { EXPECT_EQ(run_kernel(Op::update, {}, some_attributes<Rule>()), 1); });
}

// Every seventh row is not used, and some are used twice: the second place has no gradient of its own.
TEST(UpdateRows, HasTheBitsOfAnUpdateOfTheRowsThatAreUsed) {
  for_every_rule([]<class Rule, class T>() {
    const Shape shape{400, 300};
    UpdateLists<Rule, T> lists({shape}), expected = lists;
    std::vector<std::int64_t> indices, places;
    std::vector<T> gradients;
    for (std::int64_t row = 399; row >= 0; --row) {
      if (row % 7 == 0) continue;
      const auto k = static_cast<std::int64_t>(indices.size());
      for (int use = 0; use < (row % 5 == 0 ? 2 : 1); ++use) {
        indices.push_back(row);
        places.push_back(k);
        const auto first = lists.gradients[0].begin() + row * 300;
        gradients.insert(gradients.end(), first, first + 300);
      }
    }
    const auto n = static_cast<std::int64_t>(indices.size());
    std::vector<Array> arrays;
    for (const auto& list : lists.updated) arrays.emplace_back(shape, list[0]);
    if (Rule::counts_steps) arrays.emplace_back(Shape{2}, lists.counts[0]);
    std::vector<View> operands;
    for (const Array& array : arrays) operands.push_back(updated(array));
    const Array k(Shape{n}, indices), p(Shape{n}, places), g({n, 300}, gradients);
    for (const Array* array : {&k, &p, &g}) operands.push_back(read(*array));
    EXPECT_EQ(run_kernel(Op::update_rows, operands, lists.attributes()), 2);
    expected.step_plainly();
    for (std::size_t list = 0; list < lists.updated.size(); ++list) {
      std::vector<T> values = expected.updated[list][0];
      for (std::int64_t row = 0; row < 400; row += 7) {
        std::copy_n(lists.updated[list][0].begin() + row * 300, 300, values.begin() + row * 300);
      }
      expect_same_bits(arrays[list].values<T>(), values);
    }
    if (Rule::counts_steps) {
      EXPECT_EQ(arrays.back().values<std::int64_t>(), expected.counts[0]);
    }
  });
}

// The root is 0 where the squared mean is larger than the mean of squares, but NaN stays NaN.
TEST(Rmsprop, TheVarianceIsNotNegative) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Array p(Shape{2}, std::vector<float>{1, 1}), v(Shape{2}, std::vector<float>{0, nan}),
      m(Shape{2}, std::vector<float>{10, 0}), g(Shape{2}, std::vector<float>{1, 1});
  UpdateAttributes attributes =
      update_by<rules::RmspropCentered>({.lr = 0.1, .alpha = 0.9, .epsilon = 1e-3, .weight_decay = 0, .momentum = 0});
  attributes.count = 1;
  run_kernel(Op::update, {updated(p), updated(v), updated(m), read(g)}, attributes);
  EXPECT_FLOAT_EQ(p.values<float>()[0], 1 - 0.1F * 1 / 1e-3F);
  EXPECT_TRUE(std::isnan(p.values<float>()[1]));
}

}  // namespace

}  // namespace asyncgrad::detail
