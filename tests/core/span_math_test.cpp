#include "asyncgrad/core/span_math.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"

namespace asyncgrad {
namespace {

using tests::message_of;

const spans::Function* const all[] = {
    &spans::exp,   &spans::expm1,     &spans::log,       &spans::log1p, &spans::log2,     &spans::log10,
    &spans::sqrt,  &spans::rsqrt,     &spans::square,    &spans::abs,   &spans::sign,     &spans::floor,
    &spans::round, &spans::sin,       &spans::cos,       &spans::sinh,  &spans::cosh,     &spans::tanh,
    &spans::erf,   &spans::relu,      &spans::sigmoid,   &spans::silu,  &spans::softplus, &spans::softsign,
    &spans::gelu,  &spans::gelu_tanh, &spans::hardswish, &spans::selu,  &spans::mish,
};

Activation operation(const std::string& name) {
  for (const ElementwiseFunction& row : elementwise_functions()) {
    if (row.name == name) return row.function;
  }
  return nullptr;
}

// From -8 to 8, with NaN among them where the function has it.
Tensor input(std::int64_t count, DType dtype) { return sin(arange(0, count, 1, {.dtype = dtype})) * 8; }

template <class T>
bool have_the_same_bits(const Tensor& x, const Tensor& y) {
  const std::vector<T> a = x.to_vector<T>(), b = y.to_vector<T>();
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <class T>
void check(const spans::Function& function, std::int64_t count) {
  const Tensor x = input(count, dtype_of<T>);
  const Tensor y = custom("spans", {.shape = x.shape(), .dtype = dtype_of<T>}, {x},
                          [&](const CustomCall& call) { function(call.input<T>(0), call.output<T>()); });
  EXPECT_TRUE(have_the_same_bits<T>(y, operation(function.name())(x))) << function.name() << " of " << count;
}

TEST(SpanMath, HasTheBitsOfTheOperations) {
  for (const spans::Function* const function : all) {
    ASSERT_NE(operation(function->name()), nullptr) << function->name();
    for (const std::int64_t count : {0, 1, 7, 64, 1001, 70000}) {
      check<float>(*function, count);
      check<double>(*function, count);
    }
  }
}

TEST(SpanMath, MayBeCutAnywhereAndWriteItsInput) {
  const Tensor x = input(1000, float32);
  const Tensor y = custom("spans", {.shape = x.shape()}, {x}, [](const CustomCall& call) {
    const auto in = call.input<float>(0);
    const auto out = call.output<float>();
    std::ranges::copy(in, out.begin());
    for (const auto& [begin, size] : {std::pair{0, 3}, {3, 500}, {503, 497}}) {
      spans::tanh(out.subspan(begin, size), out.subspan(begin, size));
    }
  });
  EXPECT_TRUE(have_the_same_bits<float>(y, tanh(x)));
}

TEST(SpanMath, SpansMustHaveTheSameLength) {
  const std::vector<double> x(3);
  std::vector<double> y(2);
  EXPECT_THAT(message_of([&] { spans::log1p(x, y); }),
              testing::HasSubstr("[log1p] the spans differ: x has 3 elements, y 2"));
}

}  // namespace
}  // namespace asyncgrad
