#include "asyncgrad/nn/embedding.h"

#include "asyncgrad/autograd/indexing.h"
#include "asyncgrad/autograd/matmul.h"
#include "asyncgrad/autograd/shapes/look_up.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/nn/layer_options.h"

namespace asyncgrad::nn {

Embedding::Embedding(std::int64_t count, std::int64_t features, EmbeddingOptions options, Location where)
    : row_gradients(options.row_gradients) {
  const CallSite site(where);
  check_at_least_one("Embedding", "count", count);
  check_at_least_one("Embedding", "features", features);
  layer_detail::check_type("Embedding", options.dtype);
  weight =
      parameter(normal({count, features}, options.standard_deviation, layer_detail::random_options(options), where));
}

Tensor Embedding::operator()(const Arg& indices) const {
  const Arg table(weight, indices.where());
  return row_gradients ? detail::look_up(table, indices) : take(table, indices);
}

Tensor Embedding::scores(const Arg& x) const { return matmul(x, weight, {.transpose_w = true}); }

void Embedding::members(Members& m) { m("weight", weight); }

}  // namespace asyncgrad::nn
