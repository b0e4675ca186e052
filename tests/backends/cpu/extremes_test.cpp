#include <cmath>

#include "tests/backends/cpu/reduced_extents.h"

namespace asyncgrad::detail {

namespace {

template <class T>
std::int64_t first_extreme(bool largest, const std::vector<T>& in, const Extents& e, std::int64_t line) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < e.axis; ++i) {
    const T x = in[e.at(line, i)], y = in[e.at(line, best)];
    if ((largest ? x > y : x < y) || (x != x && y == y)) best = i;
  }
  return best;
}

template <class T>
void check_extreme(bool largest, bool with_nan) {
  for (const Extents& e : all_extents) {
    SCOPED_TRACE(e.whole().str());
    std::vector<T> in = random_values<T>(e.whole().numel(), 2, -5, 5);
    if (with_nan && !in.empty()) in[in.size() / 2] = std::numeric_limits<T>::quiet_NaN();
    const std::vector<T> out = reduce(largest ? Op::max : Op::min, e, in);
    const Array places(e.reduced(), int64), x(e.whole(), in);
    run_kernel(largest ? Op::argmax : Op::argmin, {written(places), read(x)}, e.attributes());
    const std::vector<std::int64_t> found = places.values<std::int64_t>();
    for (std::int64_t line = 0; line < e.lines(); ++line) {
      const std::int64_t best = first_extreme(largest, in, e, line);
      ASSERT_EQ(found[static_cast<std::size_t>(line)], best);
      ASSERT_TRUE(is_close(out[static_cast<std::size_t>(line)], in[e.at(line, best)], 0));
    }
  }
}

TEST(Max, IsTheLargestAndArgmaxTheFirstOfThemAsAreMinAndArgmin) {
  for (const bool largest : {true, false}) {
    check_extreme<float>(largest, false);
    check_extreme<double>(largest, false);
    check_extreme<std::int64_t>(largest, false);
  }
}

TEST(Max, OfNanIsNan) {
  for (const bool largest : {true, false}) {
    check_extreme<float>(largest, true);
    check_extreme<double>(largest, true);
  }
}

TEST(Max, OfInfinitiesIsAnInfinity) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const std::int64_t n : {5, 100}) {
    const auto count = static_cast<std::size_t>(n);
    EXPECT_EQ(reduce(Op::max, {1, n, 1}, std::vector<float>(count, -infinity))[0], -infinity);
    EXPECT_EQ(reduce(Op::min, {1, n, 1}, std::vector<float>(count, infinity))[0], infinity);
  }
}

template <class T>
void check_max_grad() {
  for (const Extents& e : all_extents) {
    SCOPED_TRACE(e.whole().str());
    std::vector<T> in = random_values<T>(e.whole().numel(), 3, -5, 5);
    for (T& value : in) value = std::round(value);  // so that some are equal
    const std::vector<T> gradients = random_values<T>(e.lines(), 4);
    const Array dx(e.whole(), dtype_of<T>), x(e.whole(), in), dy(e.reduced(), gradients);
    const Array y(e.reduced(), reduce(Op::max, e, in));
    run_kernel(Op::max_grad, {written(dx), read(x), read(y), read(dy)}, e.attributes());
    const std::vector<T> out = dx.values<T>(), largest = y.values<T>();
    for (std::int64_t line = 0; line < e.lines(); ++line) {
      const auto l = static_cast<std::size_t>(line);
      std::int64_t equal = 0;
      for (std::int64_t i = 0; i < e.axis; ++i) equal += in[e.at(line, i)] == largest[l] ? 1 : 0;
      for (std::int64_t i = 0; i < e.axis; ++i) {
        ASSERT_EQ(out[e.at(line, i)], in[e.at(line, i)] == largest[l] ? gradients[l] / static_cast<T>(equal) : T(0));
      }
    }
  }
}

TEST(MaxGrad, IsSharedByEquals) {
  check_max_grad<float>();
  check_max_grad<double>();
}

}  // namespace

}  // namespace asyncgrad::detail
