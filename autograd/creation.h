// New tensors. Every function queues its operations and may wait for room in the queue. All throw Error for a device
// that does not exist. Tensor::from makes a tensor of values that the program has.
#pragma once

#include "asyncgrad/core/random.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

struct TensorOptions {
  DType dtype = default_dtype();
  Device device = default_device();
};

struct RandomOptions {
  DType dtype = default_dtype();
  Device device = default_device();
  Generator* generator = nullptr;  // null stands for default_generator()
};

Tensor zeros(const Shape& shape, TensorOptions options = {}, Location where = Location::current());
Tensor ones(const Shape& shape, TensorOptions options = {}, Location where = Location::current());
// Throws Error if the type cannot hold `value`.
Tensor full(const Shape& shape, Scalar value, TensorOptions options = {}, Location where = Location::current());

// start, start + step, … up to `stop`, which is excluded: one axis of ceil((stop - start) / step) elements, each
// rounded to the type. Throws Error for a step of 0, and for bounds or a step that are not finite or that the type
// cannot hold.
Tensor arange(Scalar start, Scalar stop, Scalar step = 1, TensorOptions options = {},
              Location where = Location::current());

// `count` numbers from start to stop, both included, at equal distances; start alone for a count of 1. They are computed
// in float64. Throws Error for a negative count, for bounds that are not finite, and for types that are not floating.
Tensor linspace(double start, double stop, std::int64_t count, TensorOptions options = {},
                Location where = Location::current());
// 1 at the places (i, i + diagonal), 0 elsewhere: (rows, columns), or (rows, rows). Throws Error for a negative extent.
Tensor eye(std::int64_t rows, std::int64_t columns, std::int64_t diagonal = 0, TensorOptions options = {},
           Location where = Location::current());
Tensor eye(std::int64_t rows, TensorOptions options = {}, Location where = Location::current());

// Random numbers by Philox 4x32-10, see core/random.h. The call takes its range of numbers from the generator, so the
// values depend on the order of these calls alone. All throw Error for types that are not floating, and if this
// thread may not use the generator; bfloat16 is rounded from float32. uniform also throws for bounds that are not in
// order, or that are not finite in the type or have a distance that is not, and normal for a standard deviation that is
// negative, and for numbers that are not finite in the type.
Tensor uniform(const Shape& shape, double low = 0, double high = 1, RandomOptions options = {},
               Location where = Location::current());  // low + u (high - low), rounded, with u in (0, 1]
Tensor normal(const Shape& shape, double mean, double standard_deviation, RandomOptions options = {},
              Location where = Location::current());
Tensor randn(const Shape& shape, RandomOptions options = {}, Location where = Location::current());  // N(0, 1)

// Random integers in [low, high), each with a probability that is off by less than 2^-64. Throws Error unless low <
// high, and if the type cannot hold them.
struct RandomIntegerOptions {
  DType dtype = int64;
  Device device = default_device();
  Generator* generator = nullptr;  // null stands for default_generator()
};
Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, RandomIntegerOptions options = {},
               Location where = Location::current());
// The numbers 0 … n - 1 in random order, where all orders are equally probable except for n / 2^64: shape (n). Throws
// Error for a negative n, and if the type cannot hold them. On the CPU one thread draws them.
Tensor permutation(std::int64_t n, RandomIntegerOptions options = {}, Location where = Location::current());

// 1 with probability p, else 0, as bool unless the options say otherwise. Throws Error for p outside of [0, 1].
struct BernoulliOptions {
  DType dtype = boolean;
  Device device = default_device();
  Generator* generator = nullptr;  // null stands for default_generator()
};
Tensor bernoulli(double p, const Shape& shape, BernoulliOptions options = {}, Location where = Location::current());
// Does the same for each element of p, as bool; not differentiable. A p below 0 counts as 0, a p above 1 as 1, and NaN
// as 0.
Tensor bernoulli(const Arg& p, Generator* generator = nullptr);

// Tensors of x's shape, type and device. Throw Error as those without _like do.
Tensor zeros_like(const Arg& x);
Tensor ones_like(const Arg& x);
Tensor full_like(const Arg& x, const Scalar& value);
Tensor rand_like(const Arg& x, Generator* generator = nullptr);   // uniform in (0, 1]
Tensor randn_like(const Arg& x, Generator* generator = nullptr);  // N(0, 1)

// The same tensor, made a leaf whose gradient is wanted. A const tensor does not change: the result is a new leaf,
// which shares the values, or the tensor itself if that is such a leaf already. Throws as Tensor::requires_grad_ does.
Tensor parameter(Tensor&& value, Location where = Location::current());
Tensor parameter(Tensor& value, Location where = Location::current());
Tensor parameter(const Tensor& value, Location where = Location::current());

}  // namespace asyncgrad
