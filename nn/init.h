// Initial values of parameters. Each queues a new tensor, may wait for room, and throws Error for a type that is not
// floating; random numbers come from options.generator, or from the default generator.
#pragma once

#include "asyncgrad/autograd/creation.h"

namespace asyncgrad::nn {

// What a layer takes as a choice; any function of this form will do:
//   {.initialiser = [](const Shape& s, RandomOptions o, Location w) { return nn::normal(s, 0.01, o, w); }}
using Initialiser = Tensor (*)(const Shape& shape, RandomOptions options, Location where);

// For weights of shape (fan_in, fan_out); they throw Error for any other rank and for an axis without extent.
//
// Uniform in [-a, a], a = sqrt(6 / (fan_in + fan_out)): Glorot & Bengio 2010, "Understanding the difficulty of training
// deep feedforward neural networks", equation 16.
Tensor xavier_uniform(const Shape& shape, RandomOptions options = {}, Location where = Location::current());
// N(0, 2 / (fan_in + fan_out)): the same variance, ibid., equation 12.
Tensor xavier_normal(const Shape& shape, RandomOptions options = {}, Location where = Location::current());
// For layers with relu. N(0, 2 / fan_in): He et al. 2015, "Delving deep into rectifiers", equation 10.
Tensor he_normal(const Shape& shape, RandomOptions options = {}, Location where = Location::current());
// Uniform in [-a, a], a = sqrt(6 / fan_in): the same variance.
Tensor he_uniform(const Shape& shape, RandomOptions options = {}, Location where = Location::current());

// N(0, standard_deviation^2), of any shape.
Tensor normal(const Shape& shape, double standard_deviation, RandomOptions options = {},
              Location where = Location::current());
// `value` everywhere, of any shape and type.
Tensor constant(const Shape& shape, Scalar value, TensorOptions options = {}, Location where = Location::current());

}  // namespace asyncgrad::nn
