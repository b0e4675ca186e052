// Layers of a transformer.
#pragma once

#include <cstdint>

#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/nn/attention.h"
#include "asyncgrad/nn/dropout.h"
#include "asyncgrad/nn/norm.h"

namespace asyncgrad::nn {

struct TransformerBlockOptions {
  std::int64_t hidden_features = 0;  // between the two dense layers; 0 stands for 4 C
  bool causal = false;               // position i sees the positions 0 … i alone
  bool norm_first = true;            // normalises what goes into a part, else what comes out
  double dropout = 0;                // of what each part adds
  Activation activation = gelu;
  double epsilon = NormOptions{}.epsilon;  // of the normalisations
  bool bias = true;
  Initialiser initialiser = xavier_uniform;
  DType dtype = default_dtype();
  Device device = default_device();
  Generator* generator = nullptr;  // null stands for the default generator
};

// Attention, then two dense layers, each added to its input: x (N, T, C) -> (N, T, C). Xiong et al. 2020, "On layer
// normalization in the transformer architecture", with norm_first
//   h = x + dropout(attention(norm1(x))),   y = h + dropout(down(activation(up(norm2(h))))),
// and without it, as Vaswani et al. 2017,
//   h = norm1(x + dropout(attention(x))),   y = norm2(h + dropout(down(activation(up(h))))).
struct TransformerBlock {
  // Queues the initial values; may wait for room. Throws Error for sizes below 1, and as MultiHeadAttention, LayerNorm
  // and Dropout do.
  TransformerBlock(std::int64_t features, std::int64_t heads, const TransformerBlockOptions& options = {},
                   Location where = Location::current());

  // Queued; may wait for room. Throws Error as MultiHeadAttention does.
  Tensor operator()(const Arg& x) const;
  void members(Members& m);

  LayerNorm norm1;
  MultiHeadAttention attention;
  LayerNorm norm2;
  Dense up, down;
  Dropout dropout;
  bool norm_first;
};

struct TransformerDecoderBlockOptions {
  bool causal = true;  // position i of x sees the positions 0 … i of x alone; it sees all of the memory
  // The others are as in TransformerBlockOptions.
  std::int64_t hidden_features = TransformerBlockOptions{}.hidden_features;
  bool norm_first = TransformerBlockOptions{}.norm_first;
  double dropout = TransformerBlockOptions{}.dropout;
  Activation activation = TransformerBlockOptions{}.activation;
  double epsilon = TransformerBlockOptions{}.epsilon;
  bool bias = TransformerBlockOptions{}.bias;
  Initialiser initialiser = TransformerBlockOptions{}.initialiser;
  DType dtype = default_dtype();
  Device device = default_device();
  Generator* generator = nullptr;  // null stands for the default generator
};

// What a call of a TransformerDecoderBlock hides, as in MultiHeadAttention::attend(); Tensor{} stands for nothing.
struct DecoderMasks {
  Tensor mask{};         // of x, broadcast to (N, heads, T, T), beside `causal`
  Tensor memory_mask{};  // broadcast to (N, heads, T, S)
};

// Attention to itself, attention to a memory, then two dense layers, each added to its input: x (N, T, C) and memory
// (N, S, C), such as what an encoder of TransformerBlocks gives, -> (N, T, C). As TransformerBlock, with
//   h = x + dropout(attention(norm1(x))),   m = h + dropout(cross_attention(norm2(h), memory)),
//   y = m + dropout(down(activation(up(norm3(m)))))
// with norm_first, and without it (Vaswani et al. 2017, "Attention is all you need", section 3.1)
//   h = norm1(x + dropout(attention(x))),   m = norm2(h + dropout(cross_attention(h, memory))),
//   y = norm3(m + dropout(down(activation(up(m))))).
struct TransformerDecoderBlock {
  // Waits and throws Error as TransformerBlock does.
  TransformerDecoderBlock(std::int64_t features, std::int64_t heads, const TransformerDecoderBlockOptions& options = {},
                          Location where = Location::current());

  // Queued; may wait for room. Throws Error as MultiHeadAttention does.
  Tensor operator()(const Arg& x, const Arg& memory, const DecoderMasks& masks = {}) const;
  void members(Members& m);

  LayerNorm norm1;
  MultiHeadAttention attention;
  LayerNorm norm2;
  MultiHeadAttention cross_attention;
  LayerNorm norm3;
  Dense up, down;
  Dropout dropout;
  bool norm_first;
};

struct PositionalEncodingOptions {
  DType dtype = default_dtype();
  Device device = default_device();
};

// x + table[0 … T): x (…, T, C) -> (…, T, C). Vaswani et al. 2017, section 3.5: table (max_length, C) has sin(t /
// 10000^(i / C)) in the even columns i and the cosine of the same in the columns i + 1. It is no parameter.
struct PositionalEncoding {
  // Queues the table; may wait for room. Throws Error if max_length or features is less than 1, and for a type
  // other than float32 and float64.
  PositionalEncoding(std::int64_t max_length, std::int64_t features, PositionalEncodingOptions options = {},
                     Location where = Location::current());

  // Queued; may wait for room. Throws Error if x is not (…, T, C) with T up to max_length, or has another type or
  // device.
  Tensor operator()(const Arg& x) const;
  void members(Members& m);

  Tensor table;
};

}  // namespace asyncgrad::nn
