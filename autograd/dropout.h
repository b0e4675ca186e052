// Dropout.
#pragma once

#include "asyncgrad/core/random.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

inline constexpr double dropout_probability = 0.5;  // unless another one is given

// Every element of x is 0 with probability p, else x / (1 - p): Srivastava et al. 2014, "Dropout: a simple way to
// prevent neural networks from overfitting". It always drops elements, while nn::Dropout does so in training alone.
// With p = 0 the result is x itself. Which elements are kept depends on the generator's seed and place (core/random.h),
// from which the gradient draws them again, so that no mask is stored; x.numel() words are taken. A null generator
// stands for the default one.
//
// Differentiable. Queued; may wait for room. Throws Error at the call for p outside of [0, 1], for int64, and if this
// thread may not use the generator.
Tensor dropout(const Arg& x, double p = dropout_probability, Generator* generator = nullptr);

}  // namespace asyncgrad
