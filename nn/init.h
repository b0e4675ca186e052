// Initial values of parameters. Each function queues a new tensor and may wait for room. Those that draw random numbers
// take them from options.generator, or from the default generator, and throw Error for a type that is not floating.
#pragma once

#include "asyncgrad/autograd/creation.h"

namespace asyncgrad::nn {

// The type of a layer's option. Any function of this form fits:
//   {.initialiser = [](const Shape& s, RandomOptions o, Location w) { return nn::normal(s, 0.01, o, w); }}
using Initialiser = Tensor (*)(const Shape& shape, RandomOptions options, Location where);

// The next four are for weights of shape (fan_in, fan_out). They throw Error for any other rank, and for a shape
// without elements.
//
// Uniform in [-a, a], a = sqrt(6 / (fan_in + fan_out)): Glorot & Bengio 2010, "Understanding the difficulty of training
// deep feedforward neural networks", equation 16.
Tensor xavier_uniform(const Shape& shape, RandomOptions options = {}, Location where = Location::current());
// N(0, 2 / (fan_in + fan_out)), which has the same variance: equation 12 of the same paper.
Tensor xavier_normal(const Shape& shape, RandomOptions options = {}, Location where = Location::current());
// N(0, 2 / fan_in), for layers with relu: He et al. 2015, "Delving deep into rectifiers", equation 10.
Tensor he_normal(const Shape& shape, RandomOptions options = {}, Location where = Location::current());
// Uniform in [-a, a], a = sqrt(6 / fan_in), which has the same variance.
Tensor he_uniform(const Shape& shape, RandomOptions options = {}, Location where = Location::current());

// N(0, standard_deviation^2), in any shape.
Tensor normal(const Shape& shape, double standard_deviation, RandomOptions options = {},
              Location where = Location::current());
// `value` everywhere, in any shape and type. Throws Error if the type cannot hold it.
Tensor constant(const Shape& shape, Scalar value, TensorOptions options = {}, Location where = Location::current());

}  // namespace asyncgrad::nn
