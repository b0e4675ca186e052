// The layer that looks up rows by number.
#pragma once

#include <cstdint>

#include "asyncgrad/core/random.h"
#include "asyncgrad/nn/init.h"
#include "asyncgrad/nn/members.h"

namespace asyncgrad::nn {

struct EmbeddingOptions {
  double standard_deviation = 1;  // of the initial weight, which is normal
  DType dtype = default_dtype();
  Device device = default_device();
  Generator* generator = nullptr;  // null stands for the default generator
};

// weight[indices]: indices (…) int64 in [0, K), weight (K, C) -> (…, C).
struct Embedding {
  // Queues the initial values; may wait for room. Throws Error if `count` or `features` is less than 1, and for a type
  // other than float32 and float64.
  Embedding(std::int64_t count, std::int64_t features, EmbeddingOptions options = {},
            Location where = Location::current());

  // Queued; may wait for room. Throws Error for indices of another type. The values of indices are known later, so the
  // wait throws Error for an index out of range.
  Tensor operator()(const Arg& indices) const;
  // x weight^T: x (…, C) -> (…, K), the scores of a model whose output layer shares the weight. Queued; may wait for
  // room. Throws Error as matmul does.
  Tensor scores(const Arg& x) const;
  void members(Members& m);

  Tensor weight;
};

}  // namespace asyncgrad::nn
