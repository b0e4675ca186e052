#include <limits>

#include "tests/backends/cuda/both_backends.h"

namespace asyncgrad::detail {

namespace {

template <class T>
Number number(double value) {
  Number number{};
  if constexpr (std::is_integral_v<T>) {
    number.integer = static_cast<T>(value);
  } else {
    number.floating = value;
  }
  return number;
}
template <class Function>
void for_types(Function function) {
  for_floating(function);
  function(std::int64_t{});
}

TEST(CudaFill, IsTheCpus) {
  for_types([]<class T>(T) {
    for (const std::int64_t n : {0, 1, 1000}) {
      BothBackends().output<T>(n).run(Op::fill, FillAttributes{number<T>(2.7)}).template expect_same_bits<T>();
    }
  });
}

TEST(CudaArange, IsTheCpus) {
  for_types([]<class T>(T) {
    const ArangeAttributes attributes{number<T>(-3.1), number<T>(7.3)};
    BothBackends().output<T>(1000).run(Op::arange, attributes).template expect_same_bits<T>();
  });
}

// From any type to any other.
TEST(CudaCopy, ConvertsAsTheCpu) {
  for_types([]<class From>(From) {
    std::vector<From> values = random_values<From>(1000, 1, -1e6, 1e6);
    if constexpr (std::is_floating_point_v<From>) {
      using Limits = std::numeric_limits<From>;
      for (const From x : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), From(1e30), From(-1e30)}) {
        values.push_back(x);
      }
    }
    const Shape shape{static_cast<std::int64_t>(values.size())};
    for_types([&]<class To>(To) {
      if constexpr (!std::is_same_v<From, To>) {
        BothBackends()
            .output<To>(shape)
            .input(shape, values)
            .run(Op::copy, WithoutAttributes())
            .template expect_close<To>(0);
      }
    });
  });
}

}  // namespace

}  // namespace asyncgrad::detail
