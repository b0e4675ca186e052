// Layers of a transformer. They run on the CPU alone.
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
