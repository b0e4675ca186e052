#include "asyncgrad/nn/init.h"

#include <fmt/format.h>

#include <cmath>

#include "asyncgrad/core/error.h"

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

Tensor constant(const Shape& shape, Scalar value, TensorOptions options, Location where) {
  return asyncgrad::full(shape, value, options, where);
}

Initialiser normal(double standard_deviation) {
  return [=](const Shape& shape, RandomOptions options, Location where) {
    return normal(shape, standard_deviation, options, where);
  };
}

Initialiser uniform(double bound) {
  return
      [=](const Shape& shape, RandomOptions options, Location where) { return uniform(shape, bound, options, where); };
}

Initialiser constant(double value) {
  return [=](const Shape& shape, RandomOptions options, Location where) {
    const TensorOptions form{.dtype = options.dtype, .device = options.device};
    return constant(shape, Scalar(value, where.file, where.line), form, where);
  };
}

}  // namespace asyncgrad::nn
