// The common functions of autograd's tests.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"

namespace asyncgrad::tests {

inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double infinity = std::numeric_limits<double>::infinity();

inline Tensor float64_tensor(const std::vector<double>& values, const Shape& shape) {
  return Tensor::from(values, shape);
}
inline Tensor int64_tensor(const std::vector<std::int64_t>& values, const Shape& shape) {
  return Tensor::from(values, shape);
}
inline std::vector<float> gradient_of(const Tensor& x) { return x.grad().to_vector<float>(); }
inline std::vector<double> values(const Tensor& tensor) { return tensor.to(float64).to_vector<double>(); }

// The same so that NaN equals NaN and 0 is not -0.
inline std::vector<std::uint64_t> bits(const Tensor& tensor) {
  std::vector<std::uint64_t> bits;
  for (const double value : values(tensor)) bits.push_back(std::bit_cast<std::uint64_t>(value));
  return bits;
}

// Numbers in (low, high) that depend on `seed` alone.
inline Tensor random64(const Shape& shape, std::uint64_t seed, double low = -1, double high = 1) {
  Generator generator(seed);
  return uniform(shape, low, high, {.dtype = float64, .generator = &generator});
}

inline void expect_near(const Tensor& actual, const std::vector<double>& expected, double tolerance = 1e-12) {
  const std::vector<double> found = values(actual);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << "element " << i;
  }
}

// Runs it with 1, 2 and 5 workers, and expects the same bits of all the tensors that it gives.
template <class Function>
void expect_same_for_all_workers(Function results) {
  const EngineOptions before = engine_options();
  std::vector<std::vector<double>> first;
  for (const int workers : {1, 2, 5}) {
    EngineOptions options = before;
    options.workers = workers;
    set_engine_options(options);
    std::vector<std::vector<double>> found;
    for (const Tensor& tensor : results()) found.push_back(values(tensor));
    if (workers == 1) first = found;
    EXPECT_EQ(found, first) << workers << " workers";
  }
  set_engine_options(before);
}

// Whether `text` has the parts in this order.
inline ::testing::AssertionResult has_parts(const std::string& text, const std::vector<std::string>& parts) {
  std::size_t from = 0;
  for (const std::string& part : parts) {
    const std::size_t at = text.find(part, from);
    if (at == std::string::npos) return ::testing::AssertionFailure() << "'" << part << "' is not in '" << text << "'";
    from = at + part.size();
  }
  return ::testing::AssertionSuccess();
}

}  // namespace asyncgrad::tests
