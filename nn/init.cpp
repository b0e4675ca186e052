#include "asyncgrad/nn/init.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "asyncgrad/autograd/copy.h"
#include "asyncgrad/autograd/custom.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/nn/normal_quantile.h"

namespace asyncgrad::nn {

namespace {

struct Fans {
  double in, out;
};

Fans fans(const char* initialiser, const Shape& shape) {
  if (shape.rank() != 2 || shape.numel() == 0) {
    throw_error(initialiser, fmt::format("needs the shape (fan_in, fan_out) of a weight, got {}", shape.str()));
  }
  return {.in = static_cast<double>(shape[0]), .out = static_cast<double>(shape[1])};
}

Tensor symmetric_uniform(const Shape& shape, double limit, RandomOptions options, Location where) {
  return asyncgrad::uniform(shape, -limit, limit, options, where);
}

// What two initialisers compute in float64 by a function of their own, from numbers that are drawn for it. It runs on
// the CPU; a GPU gets a copy.
Tensor computed(const char* initialiser, const Shape& shape, const RandomOptions& options, std::int64_t cost,
                Tensor (*draw)(const Shape&, const RandomOptions&, Location), const Shape& drawn,
                std::function<void(std::span<const double> numbers, std::span<double> values)> function,
                Location where) {
  if (!is_floating(options.dtype)) {
    throw_error(initialiser, fmt::format("needs a floating type, got {}", name(options.dtype)), ErrorKind::type);
  }
  const Device host = options.device.type == DeviceType::cpu ? options.device : Device();
  const Tensor numbers = draw(drawn, {.dtype = float64, .device = host, .generator = options.generator}, where);
  const Tensor values = custom(
      initialiser, {.shape = shape, .dtype = float64}, {numbers},
      [function = std::move(function)](const CustomCall& call) {
        function(call.input<double>(0), call.output<double>());
      },
      {.cost = cost}, where);
  return values.to(options.dtype, where).to(options.device, where);
}

Tensor drawn_normal(const Shape& shape, const RandomOptions& options, Location where) {
  return asyncgrad::normal(shape, 0, 1, options, where);
}
Tensor drawn_uniform(const Shape& shape, const RandomOptions& options, Location where) {
  return asyncgrad::uniform(shape, 0, 1, options, where);
}

void check_truncation(double standard_deviation, double bound) {
  check_not_negative("truncated_normal", "standard_deviation", standard_deviation);
  check_positive("truncated_normal", "bound", bound);
  check_finite("truncated_normal", "bound", bound);
}

void check_gain(double gain) { check_finite("orthogonal", "gain", gain); }

using Row = std::span<double>;

// Eight sums beside each other, so that they are computed as vectors: a fixed order.
double product(Row x, Row y) {
  std::array<double, 8> sums{};
  const std::size_t whole = x.size() / sums.size() * sums.size();
  for (std::size_t i = 0; i < whole; i += sums.size()) {
    for (std::size_t lane = 0; lane < sums.size(); ++lane) sums[lane] += x[i + lane] * y[i + lane];
  }
  for (std::size_t i = whole; i < x.size(); ++i) sums[0] += x[i] * y[i];
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

// Makes rows orthogonal and of length 1, by the method of Gram and Schmidt. The second time each row loses what rounding
// had left. The diagonal of R, the lengths, is positive.
void make_orthogonal(Row matrix, std::size_t rows) {
  const std::size_t length = matrix.size() / rows;
  const auto row = [&](std::size_t i) { return matrix.subspan(i * length, length); };
  for (std::size_t i = 0; i < rows; ++i) {
    for (int time = 0; time < 2; ++time) {
      for (std::size_t j = 0; j < i; ++j) {
        const double share = product(row(i), row(j));
        for (std::size_t k = 0; k < length; ++k) row(i)[k] -= share * row(j)[k];
      }
      const double size = std::sqrt(product(row(i), row(i)));
      for (double& x : row(i)) x /= size;
    }
  }
}

}  // namespace

Tensor xavier_uniform(const Shape& shape, RandomOptions options, Location where) {
  const CallSite site(where);
  const Fans fan = fans("xavier_uniform", shape);
  return symmetric_uniform(shape, std::sqrt(6 / (fan.in + fan.out)), options, where);
}

Tensor xavier_normal(const Shape& shape, RandomOptions options, Location where) {
  const CallSite site(where);
  const Fans fan = fans("xavier_normal", shape);
  return asyncgrad::normal(shape, 0, std::sqrt(2 / (fan.in + fan.out)), options, where);
}

Tensor he_normal(const Shape& shape, RandomOptions options, Location where) {
  const CallSite site(where);
  return asyncgrad::normal(shape, 0, std::sqrt(2 / fans("he_normal", shape).in), options, where);
}

Tensor he_uniform(const Shape& shape, RandomOptions options, Location where) {
  const CallSite site(where);
  return symmetric_uniform(shape, std::sqrt(6 / fans("he_uniform", shape).in), options, where);
}

Tensor normal(const Shape& shape, double standard_deviation, RandomOptions options, Location where) {
  return asyncgrad::normal(shape, 0, standard_deviation, options, where);
}

Tensor uniform(const Shape& shape, double bound, RandomOptions options, Location where) {
  return symmetric_uniform(shape, bound, options, where);
}

Tensor truncated_normal(const Shape& shape, double standard_deviation, double bound, RandomOptions options,
                        Location where) {
  const CallSite site(where);
  check_truncation(standard_deviation, bound);
  const double share = std::erf(bound / std::sqrt(2.0));  // of the numbers, between the bounds
  constexpr std::int64_t cost_of_one = 50;
  return computed(
      "truncated_normal", shape, options, cost_of_one * shape.numel(), drawn_uniform, shape,
      [=](std::span<const double> numbers, std::span<double> values) {
        std::ranges::transform(numbers, values.begin(), [&](double u) {
          const double x = layer_detail::normal_quantile((u - 0.5) * share);
          return standard_deviation * std::clamp(x, -bound, bound);  // rounding may lead out
        });
      },
      where);
}

Tensor orthogonal(const Shape& shape, double gain, RandomOptions options, Location where) {
  const CallSite site(where);
  check_gain(gain);
  fans("orthogonal", shape);
  const std::int64_t rows = std::min(shape[0], shape[1]), length = std::max(shape[0], shape[1]);
  const double cost = 4.0 * static_cast<double>(rows) * static_cast<double>(rows) * static_cast<double>(length);
  return computed(
      "orthogonal", shape, options, static_cast<std::int64_t>(std::min(cost, 0x1p62)), drawn_normal, {rows, length},
      [gain, rows = static_cast<std::size_t>(rows), is_high = shape[0] > shape[1]](std::span<const double> numbers,
                                                                                   std::span<double> values) {
        std::vector<double> matrix(numbers.begin(), numbers.end());
        make_orthogonal(matrix, rows);
        const std::size_t length = matrix.size() / rows;
        for (std::size_t i = 0; i < rows; ++i) {
          for (std::size_t k = 0; k < length; ++k) {
            values[is_high ? k * rows + i : i * length + k] = gain * matrix[i * length + k];
          }
        }
      },
      where);
}

Tensor constant(const Shape& shape, Scalar value, TensorOptions options, Location where) {
  return asyncgrad::full(shape, value, options, where);
}

Initialiser normal(double standard_deviation, Location where) {
  const CallSite site(where);
  check_not_negative("normal", "standard_deviation", standard_deviation);
  return [=](const Shape& shape, RandomOptions options, Location where) {
    return normal(shape, standard_deviation, options, where);
  };
}

Initialiser uniform(double bound, Location where) {
  const CallSite site(where);
  check_not_negative("uniform", "bound", bound);
  return
      [=](const Shape& shape, RandomOptions options, Location where) { return uniform(shape, bound, options, where); };
}

Initialiser truncated_normal(double standard_deviation, double bound, Location where) {
  const CallSite site(where);
  check_truncation(standard_deviation, bound);
  return [=](const Shape& shape, RandomOptions options, Location where) {
    return truncated_normal(shape, standard_deviation, bound, options, where);
  };
}

Initialiser orthogonal(double gain, Location where) {
  const CallSite site(where);
  check_gain(gain);
  return [=](const Shape& shape, RandomOptions options, Location where) {
    return orthogonal(shape, gain, options, where);
  };
}

Initialiser constant(double value) {
  return [=](const Shape& shape, RandomOptions options, Location where) {
    const TensorOptions form{.dtype = options.dtype, .device = options.device};
    return constant(shape, Scalar(value, where), form, where);
  };
}

}  // namespace asyncgrad::nn
