#include "asyncgrad/nn/attention.h"

#include <fmt/format.h>

#include <limits>

#include "asyncgrad/autograd/attention.h"
#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/layer_scope.h"
#include "asyncgrad/nn/layer_options.h"

namespace asyncgrad::nn {

namespace {

std::int64_t checked(std::int64_t features, std::int64_t heads, Location where) {
  const CallSite site(where);
  check_at_least_one("MultiHeadAttention", "features", features);
  check_at_least_one("MultiHeadAttention", "heads", heads);
  if (features % heads != 0) {
    throw_error("MultiHeadAttention", fmt::format("heads must divide features, got {} heads for {}", heads, features));
  }
  if (features > std::numeric_limits<std::int64_t>::max() / 3)
    throw_error("MultiHeadAttention", fmt::format("features is too large: {}", features));
  return features;
}

// (N, T, parts C) -> (parts, N, heads, T, C / heads)
Tensor by_heads(const Tensor& x, std::int64_t parts, std::int64_t heads, Location where) {
  const std::int64_t width = x.size(2) / parts / heads;
  const Tensor cut = x.reshape({x.size(0), x.size(1), parts, heads, width}, where);
  return permute(Arg(cut, where), {2, 0, 3, 1, 4});
}

// The projections of columns [begin, end).
Tensor projected(const Arg& x, const Dense& layer, std::int64_t begin, std::int64_t end) {
  const Dense part = [&] {
    Dense copy = layer;
    copy.weight = slice(Arg(layer.weight, x.where()), 1, begin, end);
    if (layer.bias.defined()) copy.bias = slice(Arg(layer.bias, x.where()), 0, begin, end);
    return copy;
  }();
  return part(x);
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(std::int64_t features, std::int64_t heads,
                                       const MultiHeadAttentionOptions& options, Location where)
    : qkv(features, 3 * checked(features, heads, where), nullptr, layer_detail::dense_options(options), where),
      out(features, features, nullptr, layer_detail::dense_options(options), where),
      heads(heads),
      causal(options.causal) {}

Tensor MultiHeadAttention::attend(const Arg& x, const Arg& memory, const Tensor& mask) const {
  const std::int64_t features = out.weight.size(0);
  for (const Arg* input : {&x, &memory}) {
    const Shape& shape = layer_detail::shape_of("MultiHeadAttention", *input);
    if (shape.rank() == 3 && shape[2] == features && shape[0] == x->size(0)) continue;
    throw_error("MultiHeadAttention", fmt::format("needs (N, T, {}) and (N, S, {}), got {}, {}", features, features,
                                                  x->shape().str(), memory->shape().str()));
  }
  const Location where = x.where();
  const auto part = [&](const Tensor& parts, int i) { return parts[RowIndex(i, where)]; };
  Tensor q, k, v;
  if (x->impl() == memory->impl()) {
    const LayerScope scope("qkv");
    const Tensor all = by_heads(qkv(x), 3, heads, where);
    q = part(all, 0), k = part(all, 1), v = part(all, 2);
  } else {
    const LayerScope scope("qkv");
    q = part(by_heads(projected(x, qkv, 0, features), 1, heads, where), 0);
    const Tensor rest = by_heads(projected(memory, qkv, features, 3 * features), 2, heads, where);
    k = part(rest, 0), v = part(rest, 1);
  }
  const Tensor attended = scaled_dot_product_attention(Arg(q, where), k, v, {.causal = causal, .mask = mask});
  const Tensor side_by_side = permute(Arg(attended, where), {0, 2, 1, 3}).reshape(x->shape(), where);
  const LayerScope scope("out");
  return out(Arg(side_by_side, where));
}

void MultiHeadAttention::members(Members& m) {
  m("qkv", qkv);
  m("out", out);
}

}  // namespace asyncgrad::nn
