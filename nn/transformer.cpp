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

template <class Options>
MultiHeadAttentionOptions attention_options(const Options& options, bool causal) {
  return {.causal = causal,
          .bias = options.bias,
          .initialiser = options.initialiser,
          .dtype = options.dtype,
          .device = options.device,
          .generator = options.generator};
}
template <class Options>
LayerNorm norm(const char* block, std::int64_t features, const Options& options, Location where) {
  const CallSite site(where);
  check_at_least_one(block, "features", features);
  if (options.hidden_features != 0) check_at_least_one(block, "hidden_features", options.hidden_features);
  return LayerNorm({features},
                   {.epsilon = options.epsilon, .bias = options.bias, .dtype = options.dtype, .device = options.device},
                   where);
}
template <class Options>
Dense up_layer(std::int64_t features, const Options& options, Location where) {
  const std::int64_t hidden = options.hidden_features == 0 ? 4 * features : options.hidden_features;
  return Dense(features, hidden, options.activation, layer_detail::dense_options(options), where);
}
template <class Options>
Dense down_layer(const Dense& up, std::int64_t features, const Options& options, Location where) {
  return Dense(up.weight.size(1), features, nullptr, layer_detail::dense_options(options), where);
}

// The calls of a block's layers, which errors name.
class Calls {
 public:
  explicit Calls(Location where) : where_(where) {}
  Arg at(const Tensor& tensor) const { return {tensor, where_}; }
  template <class Layer>
  Tensor operator()(const char* name, const Layer& layer, const Tensor& input) const {
    const LayerScope scope(name);
    return layer(at(input));
  }
  Tensor attend(const char* name, const MultiHeadAttention& layer, const Tensor& x, const Tensor& memory,
                const Tensor& mask) const {
    const LayerScope scope(name);
    return layer.attend(at(x), at(memory), mask);
  }
  // x + part(norm(x)), or norm(x + part(x)).
  template <class Part>
  Tensor added(const char* name, const LayerNorm& norm, bool norm_first, const Tensor& x, const Part& part) const {
    if (norm_first) return at(x) + part((*this)(name, norm, x));
    return (*this)(name, norm, at(x) + part(x));
  }

 private:
  Location where_;
};

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
    : norm1(norm("TransformerBlock", features, options, where)),
      attention(features, heads, attention_options(options, options.causal), where),
      norm2(norm("TransformerBlock", features, options, where)),
      up(up_layer(features, options, where)),
      down(down_layer(up, features, options, where)),
      dropout(options.dropout, options.generator, where),
      norm_first(options.norm_first) {}

Tensor TransformerBlock::operator()(const Arg& x) const {
  const Calls call(x.where());
  const Tensor h = call.added("norm1", norm1, norm_first, x, [&](const Tensor& z) {
    return call("dropout", dropout, call("attention", attention, z));
  });
  return call.added("norm2", norm2, norm_first, h,
                    [&](const Tensor& z) { return call("dropout", dropout, call("down", down, call("up", up, z))); });
}

void TransformerBlock::members(Members& m) {
  m("norm1", norm1);
  m("attention", attention);
  m("norm2", norm2);
  m("up", up);
  m("down", down);
  m("dropout", dropout);
}

TransformerDecoderBlock::TransformerDecoderBlock(std::int64_t features, std::int64_t heads,
                                                 const TransformerDecoderBlockOptions& options, Location where)
    : norm1(norm("TransformerDecoderBlock", features, options, where)),
      attention(features, heads, attention_options(options, options.causal), where),
      norm2(norm("TransformerDecoderBlock", features, options, where)),
      cross_attention(features, heads, attention_options(options, false), where),
      norm3(norm("TransformerDecoderBlock", features, options, where)),
      up(up_layer(features, options, where)),
      down(down_layer(up, features, options, where)),
      dropout(options.dropout, options.generator, where),
      norm_first(options.norm_first) {}

Tensor TransformerDecoderBlock::operator()(const Arg& x, const Arg& memory, const DecoderMasks& masks) const {
  const Calls call(x.where());
  const Tensor h = call.added("norm1", norm1, norm_first, x, [&](const Tensor& z) {
    return call("dropout", dropout, call.attend("attention", attention, z, z, masks.mask));
  });
  const Tensor m = call.added("norm2", norm2, norm_first, h, [&](const Tensor& z) {
    return call("dropout", dropout, call.attend("cross_attention", cross_attention, z, memory, masks.memory_mask));
  });
  return call.added("norm3", norm3, norm_first, m,
                    [&](const Tensor& z) { return call("dropout", dropout, call("down", down, call("up", up, z))); });
}

void TransformerDecoderBlock::members(Members& m) {
  m("norm1", norm1);
  m("attention", attention);
  m("norm2", norm2);
  m("cross_attention", cross_attention);
  m("norm3", norm3);
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
  const Shape& shape = layer_detail::shape_of("PositionalEncoding", x);
  if (shape.rank() < 2 || shape[-1] != table.size(1) || shape[-2] > table.size(0)) {
    throw_error("PositionalEncoding",
                fmt::format("needs x (…, T, {}) with T up to {}, got {}", table.size(1), table.size(0), shape.str()));
  }
  return x + table.slice(0, shape[-2], x.where());
}

void PositionalEncoding::members(Members& m) { m("table", table); }

}  // namespace asyncgrad::nn
