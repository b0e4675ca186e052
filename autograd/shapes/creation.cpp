#include "asyncgrad/autograd/creation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/shared_generator.h"

namespace asyncgrad {

namespace {

using namespace detail;

// The number of elements of an arange of integers. It is computed without a sign, because int64 cannot hold the
// distance of any two int64.
std::int64_t integer_count(std::int64_t start, std::int64_t stop, std::int64_t step) {
  if (step > 0 ? start >= stop : start <= stop) return 0;
  const auto difference = [](std::int64_t larger, std::int64_t smaller) {
    return static_cast<std::uint64_t>(larger) - static_cast<std::uint64_t>(smaller);
  };
  const std::uint64_t distance = step > 0 ? difference(stop, start) : difference(start, stop);
  const std::uint64_t stride = step > 0 ? difference(step, 0) : difference(0, step);
  return static_cast<std::int64_t>((distance - 1) / stride + 1);
}

std::int64_t floating_count(double start, double stop, double step) {
  const double count = std::ceil((stop - start) / step);
  if (!std::isfinite(count) || !std::isfinite(step) || count > 0x1p62) {
    throw_error("arange", fmt::format("the number of elements is not finite: start {}, stop {}, step {}; all of them "
                                      "must be, and the step not too small",
                                      start, stop, step));
  }
  return count > 0 ? static_cast<std::int64_t>(count) : 0;
}

bool is_finite_in(DType dtype, double value) {
  return dtype == DType::float64 ? std::isfinite(value) : std::isfinite(static_cast<float>(value));
}

Tensor random(const char* operation, Op op, const Shape& shape, double low, double high, const RandomOptions& options,
              Location where) {
  if (!is_floating(options.dtype)) {
    throw_error(operation,
                fmt::format("there are no random numbers of type {}, as wanted for {}; randint() gives integers",
                            name(options.dtype), shape.str()));
  }
  if (options.dtype == bfloat16) {
    const RandomOptions wide{.dtype = float32, .device = options.device, .generator = options.generator};
    return random(operation, op, shape, low, high, wide, where).to(bfloat16, where);
  }
  Tensor out = make_tensor(shape, options.dtype, options.device);
  const std::uint64_t words_each = options.dtype == DType::float64 ? 2 : 1;
  const auto [key, first] = take_numbers(options.generator, static_cast<std::uint64_t>(shape.numel()) * words_each);
  submit(op, {writes(out)}, RandomAttributes{key, first, low, high}, where);
  return out;
}

// Integers of another type are drawn in int64.
Tensor integers(Op op, const Shape& shape, std::int64_t low, std::uint64_t span, const RandomIntegerOptions& options,
                Location where) {
  Tensor out = make_tensor(shape, int64, options.device);
  const auto [key, first] = take_numbers(options.generator, 2 * static_cast<std::uint64_t>(shape.numel()));
  submit(op, {writes(out)}, RandintAttributes{key, first, low, span}, where);
  return out.to(options.dtype, where);
}

}  // namespace

Tensor full(const Shape& shape, Scalar value, TensorOptions options, Location where) {
  const CallSite site(where);
  const Number number = number_in(options.dtype, value, "full");
  Tensor out = make_tensor(shape, options.dtype, options.device);
  submit(Op::fill, {writes(out)}, FillAttributes{number}, where);
  return out;
}

Tensor zeros(const Shape& shape, TensorOptions options, Location where) { return full(shape, 0, options, where); }
Tensor ones(const Shape& shape, TensorOptions options, Location where) { return full(shape, 1, options, where); }

Tensor arange(Scalar start, Scalar stop, Scalar step, TensorOptions options, Location where) {
  const CallSite site(where);
  const ArangeAttributes attributes{number_in(options.dtype, start, "arange"),
                                    number_in(options.dtype, step, "arange")};
  stop.check_fits(options.dtype, "arange");
  if (step.as_double() == 0)
    throw_error("arange", fmt::format("the step from {} to {} must not be 0", start.as_double(), stop.as_double()));
  const std::int64_t count = is_floating(options.dtype)
                                 ? floating_count(start.as_double(), stop.as_double(), step.as_double())
                                 : integer_count(start.as_int64(), stop.as_int64(), step.as_int64());
  Tensor out = make_tensor({count}, options.dtype, options.device);
  submit(Op::arange, {writes(out)}, attributes, where);
  return out;
}

Tensor linspace(double start, double stop, std::int64_t count, TensorOptions options, Location where) {
  const CallSite site(where);
  if (count < 0) throw_error("linspace", fmt::format("count must not be negative, got {}", count));
  if (!is_floating(options.dtype)) {
    throw_error("linspace",
                fmt::format("has no form for {}, as wanted for {} numbers; arange() has", name(options.dtype), count),
                ErrorKind::type);
  }
  const double step = count > 1 ? (stop - start) / static_cast<double>(count - 1) : 0;
  if (!std::isfinite(start) || !std::isfinite(stop) || !std::isfinite(step)) {
    throw_error("linspace", fmt::format("needs finite bounds at a finite distance, got {} and {}", start, stop));
  }
  const auto at = [&](const Tensor& tensor) { return Arg(tensor, where); };
  const auto number = [&](double value) { return Scalar(value, where); };
  // From both ends, so that both are exact.
  const Tensor i = arange(0, count, 1, {.dtype = float64, .device = options.device}, where);
  const Tensor from_start = at(at(i) * number(step)) + number(start);
  const Tensor before_stop = number(static_cast<double>(count - 1)) - at(i);
  const Tensor from_stop = number(stop) - at(at(before_stop) * number(step));
  const Tensor is_lower = at(i) < number(static_cast<double>(count) / 2);
  return asyncgrad::where(at(is_lower), at(from_start), at(from_stop)).to(options.dtype, where);
}

Tensor eye(std::int64_t rows, std::int64_t columns, std::int64_t diagonal, TensorOptions options, Location where) {
  const CallSite site(where);
  if (rows < 0 || columns < 0) {
    throw_error("eye", fmt::format("extents must not be negative, got ({}, {})", rows, columns));
  }
  checked_value_bytes({rows, columns}, options.dtype);
  const std::int64_t first = std::clamp(diagonal, -rows, columns);  // beyond them nothing is 1
  const TensorOptions indices{.dtype = int64, .device = options.device};
  const Tensor row = arange(first, first + rows, 1, indices, where).reshape({rows, 1}, where);
  const Tensor column = arange(0, columns, 1, indices, where);
  return equal(Arg(row, where), Arg(column, where)).to(options.dtype, where);
}
Tensor eye(std::int64_t rows, TensorOptions options, Location where) { return eye(rows, rows, 0, options, where); }

Tensor uniform(const Shape& shape, double low, double high, RandomOptions options, Location where) {
  const CallSite site(where);
  if (!(low <= high) || !is_finite_in(options.dtype, low) || !is_finite_in(options.dtype, high) ||
      !is_finite_in(options.dtype, high - low)) {
    throw_error(
        "uniform",
        fmt::format("the bounds {} and {} are no finite interval in {}; the first one must not be above the second",
                    low, high, name(options.dtype)));
  }
  return random("uniform", Op::uniform, shape, low, high, options, where);
}

Tensor normal(const Shape& shape, double mean, double standard_deviation, RandomOptions options, Location where) {
  const CallSite site(where);
  if (!(standard_deviation >= 0) || !is_finite_in(options.dtype, mean) ||
      !is_finite_in(options.dtype, standard_deviation)) {
    throw_error("normal",
                fmt::format("a normal distribution cannot have mean {} and standard deviation {} in {}; both must "
                            "be finite, and the deviation not negative",
                            mean, standard_deviation, name(options.dtype)));
  }
  return random("normal", Op::normal, shape, mean, standard_deviation, options, where);
}

Tensor randn(const Shape& shape, RandomOptions options, Location where) { return normal(shape, 0, 1, options, where); }

Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, RandomIntegerOptions options, Location where) {
  const CallSite site(where);
  if (low >= high)
    throw_error("randint", fmt::format("there is no integer in [{}, {}); low must be below high", low, high));
  Scalar(low).check_fits(options.dtype, "randint");
  Scalar(high - 1).check_fits(options.dtype, "randint");
  const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  return integers(Op::randint, shape, low, span, options, where);
}

Tensor permutation(std::int64_t n, RandomIntegerOptions options, Location where) {
  const CallSite site(where);
  if (n < 0) throw_error("permutation", fmt::format("needs at least 0 numbers, got {}", n));
  if (n > 0) Scalar(n - 1).check_fits(options.dtype, "permutation");
  return integers(Op::permutation, {n}, 0, static_cast<std::uint64_t>(n), options, where);
}

Tensor bernoulli(double p, const Shape& shape, BernoulliOptions options, Location where) {
  const CallSite site(where);
  check_in_unit_interval("bernoulli", "p", p);
  // p is read in float64, so that a p near 0 or 1 keeps its value.
  const RandomOptions numbers{.dtype = float64, .device = options.device, .generator = options.generator};
  const Tensor u = uniform(shape, 0, 1, numbers, where);
  return less_equal(Arg(u, where), p).to(options.dtype, where);
}

Tensor bernoulli(const Arg& p, Generator* generator) {
  const TensorImpl& impl = checked_operand(p, "bernoulli");
  check_floating("bernoulli", {"p", impl});
  const RandomOptions numbers{.dtype = impl.dtype, .device = impl.device, .generator = generator};
  const Tensor u = uniform(impl.shape, 0, 1, numbers, p.where());
  return less_equal(Arg(u, p.where()), p);
}

Tensor zeros_like(const Arg& x) { return full_like(x, 0); }
Tensor ones_like(const Arg& x) { return full_like(x, 1); }
Tensor full_like(const Arg& x, const Scalar& value) {
  const TensorImpl& impl = checked_operand(x, "full_like");
  return full(impl.shape, value, {.dtype = impl.dtype, .device = impl.device}, x.where());
}
Tensor rand_like(const Arg& x, Generator* generator) {
  const TensorImpl& impl = checked_operand(x, "rand_like");
  return uniform(impl.shape, 0, 1, {.dtype = impl.dtype, .device = impl.device, .generator = generator}, x.where());
}
Tensor randn_like(const Arg& x, Generator* generator) {
  const TensorImpl& impl = checked_operand(x, "randn_like");
  return randn(impl.shape, {.dtype = impl.dtype, .device = impl.device, .generator = generator}, x.where());
}

}  // namespace asyncgrad
