// The layer that looks up rows by number.
#pragma once

#include <cstdint>

#include "asyncgrad/core/random.h"
#include "asyncgrad/nn/init.h"
#include "asyncgrad/nn/members.h"

namespace asyncgrad::nn {

struct EmbeddingOptions {
  double standard_deviation = 1;  // of the initial weight, which is normal
  // The weight's gradient is kept by rows: as the numbers and the gradients of the rows that were looked up, so that
  // gradient and step take memory and time by the look-ups, not by K. Embedding describes what else is different.
  bool row_gradients = false;
  DType dtype = default_dtype();
  Device device = default_device();
  Generator* generator = nullptr;  // null stands for the default generator
};

// weight[indices]: indices (…) int64 in [0, K), weight (K, C) -> (…, C).
//
// With row_gradients a step changes the rows that were looked up since zero_grad(), and no other: weight decay,
// momentum and running means of other rows stand still until their next use, as with PyTorch's SparseAdam; steps are
// counted for the whole weight. Gradients of the same row are summed in the order of the look-ups and of backward().
// SGD without momentum and decay gives the bits that it gives without the option. weight.grad() throws Error then;
// ag::grad() computes a tensor as ever. The library's optimisers and clip_norm() take such gradients; an optimiser of
// the program's own cannot. Without zero_grad() they grow with every backward(), beyond K if it comes to that. The
// option has an effect while the weight is a leaf. When another operation, such as scores(), gives the weight a
// gradient, the sum is a tensor, and so the step is one of all rows.
struct Embedding {
  // Queues the initial values; may wait for room. Throws Error if `count` or `features` is less than 1, and for a type
  // other than float32 and float64.
  Embedding(std::int64_t count, std::int64_t features, EmbeddingOptions options = {},
            Location where = Location::current());

  // Queued; may wait for room. Throws Error for indices of another type. The values of indices are known later, so the
  // wait throws Error for an index out of range. A GPU cannot report it: there the row is NaN.
  Tensor operator()(const Arg& indices) const;
  // x weight^T: x (…, C) -> (…, K), the scores of a model whose output layer shares the weight. Queued; may wait for
  // room. Throws Error as matmul does.
  Tensor scores(const Arg& x) const;
  void members(Members& m);

  Tensor weight;
  bool row_gradients = false;
};

}  // namespace asyncgrad::nn
