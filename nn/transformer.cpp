#include "asyncgrad/nn/transformer.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <vector>

#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/layer_scope.h"
#include "asyncgrad/nn/layer_options.h"

namespace asyncgrad::nn {

namespace {

MultiHeadAttentionOptions attention_options(const TransformerBlockOptions& options) {
  return {.causal = options.causal,
          .bias = options.bias,
          .initialiser = options.initialiser,
          .dtype = options.dtype,
          .device = options.device,
          .generator = options.generator};
}
LayerNorm norm(std::int64_t features, const TransformerBlockOptions& options, Location where) {
  const CallSite site(where);
  check_at_least_one("TransformerBlock", "features", features);
  if (options.hidden_features != 0) check_at_least_one("TransformerBlock", "hidden_features", options.hidden_features);
  return LayerNorm({features},
                   {.epsilon = options.epsilon, .bias = options.bias, .dtype = options.dtype, .device = options.device},
                   where);
}
std::int64_t hidden(std::int64_t features, const TransformerBlockOptions& options) {
  return options.hidden_features == 0 ? 4 * features : options.hidden_features;
}

std::vector<double> sines(std::int64_t max_length, std::int64_t features) {
  std::vector<double> table;
  table.reserve(static_cast<std::size_t>(max_length * features));  // too much throws at once
  for (std::int64_t t = 0; t < max_length; ++t) {
    for (std::int64_t i = 0; i < features; ++i) {
      const double exponent = static_cast<double>(i - i % 2) / static_cast<double>(features);
      const double angle = static_cast<double>(t) * std::pow(10000.0, -exponent);
      table.push_back(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return table;
}

}  // namespace

TransformerBlock::TransformerBlock(std::int64_t features, std::int64_t heads, const TransformerBlockOptions& options,
                                   Location where)
    : norm1(norm(features, options, where)),
      attention(features, heads, attention_options(options), where),
      norm2(norm(features, options, where)),
      up(features, hidden(features, options), options.activation, layer_detail::dense_options(options), where),
      down(hidden(features, options), features, nullptr, layer_detail::dense_options(options), where),
      dropout(options.dropout, options.generator, where),
      norm_first(options.norm_first) {}

Tensor TransformerBlock::operator()(const Arg& x) const {
  const auto call = [&](const char* name, const auto& layer, const Tensor& input) {
    const LayerScope scope(name);
    return layer(Arg(input, x.where()));
  };
  const auto attend = [&](const Tensor& h) { return call("dropout", dropout, call("attention", attention, h)); };
  const auto feed_forward = [&](const Tensor& h) {
    return call("dropout", dropout, call("down", down, call("up", up, h)));
  };
  if (norm_first) {
    const Tensor h = x + attend(call("norm1", norm1, x));
    return Arg(h, x.where()) + feed_forward(call("norm2", norm2, h));
  }
  const Tensor h = call("norm1", norm1, x + attend(x));
  return call("norm2", norm2, Arg(h, x.where()) + feed_forward(h));
}

void TransformerBlock::members(Members& m) {
  m("norm1", norm1);
  m("attention", attention);
  m("norm2", norm2);
  m("up", up);
  m("down", down);
  m("dropout", dropout);
}

PositionalEncoding::PositionalEncoding(std::int64_t max_length, std::int64_t features,
                                       PositionalEncodingOptions options, Location where) {
  const CallSite site(where);
  check_at_least_one("PositionalEncoding", "max_length", max_length);
  check_at_least_one("PositionalEncoding", "features", features);
  layer_detail::check_type("PositionalEncoding", options.dtype);
  const Shape shape{max_length, features};
  if (shape.numel() > std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(sizeof(double))) {
    throw_error("PositionalEncoding", fmt::format("{} is more memory than a machine can address", shape.str()),
                ErrorKind::memory);
  }
  table =
      Tensor::from(sines(max_length, features), {max_length, features}, options.device, where).to(options.dtype, where);
}

Tensor PositionalEncoding::operator()(const Arg& x) const {
  const Shape& shape = x->shape();
  if (shape.rank() < 2 || shape[-1] != table.size(1) || shape[-2] > table.size(0)) {
    throw_error("PositionalEncoding",
                fmt::format("needs x (…, T, {}) with T up to {}, got {}", table.size(1), table.size(0), shape.str()));
  }
  return x + table.slice(0, shape[-2], x.where());
}

void PositionalEncoding::members(Members& m) { m("table", table); }

}  // namespace asyncgrad::nn
