#include "trials.h"

#include <cstdint>
#include <string>
#include <utility>

#include "asyncgrad/asyncgrad.h"

namespace asyncgrad::benchmarks {
namespace {

constexpr std::int64_t elements = std::int64_t{1} << 21;

template <class Function>
std::function<Run()> with_gradient(const Shape& shape, Function function) {
  return [=]() -> Run {
    return [=, x = parameter(randn(shape))](int units) mutable {
      for (int i = 0; i < units; ++i) {
        x.zero_grad();
        sum(function(x)).backward();
      }
    };
  };
}

template <class Function>
std::function<Run()> in_rows(std::int64_t columns, Function function) {
  return with_gradient({elements / columns, columns}, std::move(function));
}

std::function<Run()> broadcast(std::int64_t columns) {
  return [=]() -> Run {
    const std::int64_t rows = elements / columns;
    return [x = randn({rows, columns}), column = randn({rows, 1})](int units) {
      const Inference inference;
      for (int i = 0; i < units; ++i) x* column;
    };
  };
}

Tensor sum_of_slices(const Tensor& x) {
  Tensor total = zeros({});
  for (std::int64_t i = 0; i < x.size(0); ++i) total = total + sum(square(x.slice(i, i + 1)));
  return total;
}

}  // namespace

Works trials() {
  Works works;
  for (const std::int64_t n : {4, 32, 63, 64}) works["trial_broadcast_" + std::to_string(n)] = broadcast(n);
  for (const int n : {2, 3}) {
    works["trial_pow_" + std::to_string(n)] = with_gradient({1024, 512}, [=](const Tensor& x) { return pow(x, n); });
  }
  for (const std::int64_t n : {256, 1024}) {
    works["trial_slices_" + std::to_string(n)] = with_gradient({n, 64, 64}, sum_of_slices);
  }
  for (const std::int64_t n : {8, 32, 64, 1024}) {
    works["trial_softmax_" + std::to_string(n)] = in_rows(n, [](const Tensor& x) { return softmax(x, 1); });
  }
  for (const std::int64_t n : {4, 32, 1024}) {
    works["trial_sum_" + std::to_string(n)] = in_rows(n, [](const Tensor& x) { return sum(x, 1); });
  }
  return works;
}

}  // namespace asyncgrad::benchmarks
