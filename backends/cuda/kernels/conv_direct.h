// Convolutions whose groups have few outputs, without products of matrices: these would be of a few columns, for which
// cuBLASLt has no fast algorithm. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/backends/conv_extents.h"
#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail::cuda {

// Whether sums of `depth` terms, of which a group has `outputs` for each pixel, may be computed here. conv.cu leaves out
// what has too few pixels.
constexpr bool conv_is_direct(std::int64_t outputs, std::int64_t depth) {
  constexpr std::int64_t few_outputs = 8, max_depth = 1024;
  return outputs <= few_outputs && depth <= max_depth;
}

// The operations of these operands, in float32 or float64. Without images a weight's gradient is zero.
void conv_direct(const KernelCall& call, const ConvExtents& extents);
void conv_input_direct(const KernelCall& call, const ConvExtents& extents);

// The scratch memory has this size: a few thousand elements at most, or as many as the weight.
void conv_weight_direct(const KernelCall& call, const ConvExtents& extents);
std::int64_t conv_weight_direct_scratch_bytes(const KernelCall& call, const ConvExtents& extents);

}  // namespace asyncgrad::detail::cuda
