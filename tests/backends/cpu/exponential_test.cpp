// e^x of float32, which has loops of its own: the standard library's in float64 is the reference.
#include <cmath>
#include <limits>

#include "asyncgrad/core/backend/formulas.h"
#include "tests/backends/cpu/kernel_runner.h"

namespace asyncgrad::detail {

namespace {

std::vector<float> exponentials(const std::vector<float>& x) {
  const Shape shape{static_cast<std::int64_t>(x.size())};
  const Array in(shape, x), out(shape, float32);
  run_kernel(Op::elementwise, {written(out), read(in)},
             ElementwiseAttributes{.formula = formulas::id<formulas::Exp>()});
  return out.values<float>();
}

// All that float32 holds, from what becomes 0 to what becomes infinite.
std::vector<float> numbers_of_any_power() {
  std::vector<float> x;
  for (int i = -110000; i <= 95000; i += 7) x.push_back(static_cast<float>(i) / 1000);
  return x;
}

// The distance from one float32 to the next: of denormal numbers, too.
double spacing(double y) {
  const auto size = static_cast<float>(std::abs(y));
  return static_cast<double>(std::nextafter(size, std::numeric_limits<float>::infinity())) - static_cast<double>(size);
}

TEST(Exponential, IsRightButForALastBit) {
  const std::vector<float> x = numbers_of_any_power(), y = exponentials(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = std::exp(static_cast<double>(x[i]));
    if (expected > static_cast<double>(std::numeric_limits<float>::max())) {
      EXPECT_EQ(y[i], std::numeric_limits<float>::infinity()) << x[i];
    } else {
      EXPECT_LE(std::abs(static_cast<double>(y[i]) - expected), 1.5 * spacing(expected)) << x[i];
    }
  }
}

TEST(Exponential, HasTheSameBitsBesideAnyOther) {
  const std::vector<float> x = numbers_of_any_power(), y = exponentials(x);
  for (const float beside : {-1000.0F, 1000.0F, std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> mixed;
    for (const float value : x) mixed.insert(mixed.end(), {value, beside});
    const std::vector<float> z = exponentials(mixed);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(z[2 * i], y[i]) << x[i];
  }
}

}  // namespace

}  // namespace asyncgrad::detail
