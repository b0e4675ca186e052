// Functions for options that several layers have. For the sources of layers.
#pragma once

#include "asyncgrad/nn/dense.h"

namespace asyncgrad::nn::layer_detail {

// Throws Error, naming `layer`, unless a layer can compute with parameters of the type: float32 or float64.
void check_type(const char* layer, DType dtype);

// Throws Error, naming `layer`, for an axis that no tensor has.
void check_axis(const char* layer, int axis);

// The shape of a layer's input. Throws Error, naming `layer`, for Tensor{}.
const Shape& shape_of(const char* layer, const Arg& x);

// Throws Error, naming `layer`, unless x is (N, channels) or (N, channels, …).
void check_channels(const char* layer, const Arg& x, std::int64_t channels);

// The initial values of a weight. Throws Error, naming `layer`, if the initialiser is null or gives another shape, type
// or device.
Tensor initial_weight(const char* layer, const Initialiser& initialiser, const Shape& shape,
                      const RandomOptions& options, Location where);

// The options with which the random initial values of a layer are made.
template <class Options>
RandomOptions random_options(const Options& options) {
  return {.dtype = options.dtype, .device = options.device, .generator = options.generator};
}

// The options of a dense layer inside a layer that has its options in common with it.
template <class Options>
DenseOptions dense_options(const Options& options) {
  return {.bias = options.bias,
          .initialiser = options.initialiser,
          .dtype = options.dtype,
          .device = options.device,
          .generator = options.generator};
}

}  // namespace asyncgrad::nn::layer_detail
