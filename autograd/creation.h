// Tensors from nothing. Every function queues one operation and does not block; all throw Error for a device that is
// not there. Tensor::from makes a tensor of values that the program has.
#pragma once

#include "asyncgrad/core/random.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

struct TensorOptions {
  DType dtype = float32;
  Device device = default_device();
};

struct RandomOptions {
  DType dtype = float32;
  Device device = default_device();
  Generator* generator = nullptr;  // null: default_generator()
};

Tensor zeros(const Shape& shape, TensorOptions options = {}, Location where = Location::current());
Tensor ones(const Shape& shape, TensorOptions options = {}, Location where = Location::current());
// Throws Error if the type cannot hold `value`.
Tensor full(const Shape& shape, Scalar value, TensorOptions options = {}, Location where = Location::current());

// start, start + step, … up to but without `stop`: one axis of ceil((stop - start) / step) elements. Throws Error for a
// step of 0, and for bounds or a step that are not finite or that the type cannot hold. Elements between are rounded.
Tensor arange(Scalar start, Scalar stop, Scalar step = 1, TensorOptions options = {},
              Location where = Location::current());

// Random numbers by Philox 4x32-10. The range of numbers is taken from the generator at the call, so the values depend
// on the order of these calls alone. They throw Error for int64 and for bounds that are not in order or, with their
// distance, not finite in the type.
Tensor uniform(const Shape& shape, double low = 0, double high = 1, RandomOptions options = {},
               Location where = Location::current());  // in (low, high]
Tensor normal(const Shape& shape, double mean, double standard_deviation, RandomOptions options = {},
              Location where = Location::current());
Tensor randn(const Shape& shape, RandomOptions options = {}, Location where = Location::current());  // N(0, 1)

// The same tensor, storage shared, as a leaf whose gradient is wanted. Throws as Tensor::requires_grad_.
Tensor parameter(Tensor value);

}  // namespace asyncgrad
