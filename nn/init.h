// Initial values of parameters. Each function queues a new tensor and may wait for room. The random ones draw from
// options.generator, or from the default generator, and throw Error for a type that is not floating.
#pragma once

#include <functional>

#include "asyncgrad/autograd/creation.h"

namespace asyncgrad::nn {

// The type of a layer's option. Any function of this form fits, such as xavier_uniform and nn::normal(0.01). It returns
// a tensor of the shape that it is given.
using Initialiser = std::function<Tensor(const Shape& shape, RandomOptions options, Location where)>;

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
// Uniform in [-bound, bound], in any shape.
Tensor uniform(const Shape& shape, double bound, RandomOptions options = {}, Location where = Location::current());
// N(0, standard_deviation^2) between -bound and bound standard deviations, in any shape: the quantile of a uniform
// number. (Wichura 1988, "Algorithm AS 241: The Percentage Points of the Normal Distribution".) Throws Error unless
// bound is positive.
Tensor truncated_normal(const Shape& shape, double standard_deviation, double bound, RandomOptions options = {},
                        Location where = Location::current());
// gain Q for a weight (fan_in, fan_out), with orthogonal rows or columns of length 1, whichever are fewer, uniform among
// all such: Q of the factors Q R, with a positive diagonal of R, of a matrix of N(0, 1) (Saxe et al. 2014, "Exact
// solutions to the nonlinear dynamics of learning in deep linear neural networks"; Mezzadri 2007, "How to generate
// random matrices from the classical compact groups"). It is computed in float64 on the CPU, by one thread. Throws Error
// for any other rank, for a shape without elements, and for a gain that is not finite.
Tensor orthogonal(const Shape& shape, double gain, RandomOptions options = {}, Location where = Location::current());
// `value` everywhere, in any shape and type. Throws Error if the type cannot hold it.
Tensor constant(const Shape& shape, Scalar value, TensorOptions options = {}, Location where = Location::current());

// The last five as options of layers: {.initialiser = ag::nn::normal(0.02)}. They throw Error for a standard deviation or
// a bound that is negative or not finite, and for a gain that is not finite; the bound of truncated_normal is positive.
inline constexpr double initial_standard_deviation = 0.01, initial_bound = 0.07, initial_truncation = 2,
                        initial_gain = 1;
Initialiser normal(double standard_deviation = initial_standard_deviation, Location where = Location::current());
Initialiser uniform(double bound = initial_bound, Location where = Location::current());
Initialiser truncated_normal(double standard_deviation = initial_standard_deviation, double bound = initial_truncation,
                             Location where = Location::current());
Initialiser orthogonal(double gain = initial_gain, Location where = Location::current());
Initialiser constant(double value);

}  // namespace asyncgrad::nn
