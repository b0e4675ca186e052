// Depthwise convolutions whose planes are small, or read in strides: vectors along pixels would be mostly empty, so they
// go along groups. The sums of outputs and of inputs' gradients are the same chains as those along pixels. Internal.
#pragma once

#include <cstdint>
#include <optional>

#include "asyncgrad/backends/cpu/windows/conv_blocks.h"
#include "asyncgrad/backends/cpu/windows/conv_pass.h"

namespace asyncgrad::detail {

// Groups are taken in blocks of as many as a vector has lanes, and their planes in strips of rows. A strip of a block
// lies pixel by pixel, with padding of zeros. A unit is a strip of a block in one image, or for the gradient of the
// weight the images of a part. The plan is a function of shapes and of the processor alone.
struct DepthwisePlan {
  static constexpr std::int64_t max_passes = 16;

  ConvExtents extents;
  Op op;               // conv, conv_input or conv_weight
  std::int64_t parts;  // of the images, for each of which the gradient of a weight has sums
  std::int64_t lanes;
  ConvPlan pixels;                             // of the passes, and of the sums along pixels
  Range taps{};                                // rows that taps of all passes read, as distances from an output's first
  Range columns{};                             // of a field: those of a plane, and what the passes read beside it
  std::int64_t row_stride = 1;                 // how far outputs' first rows are apart
  std::int64_t rows_of_strip = 0, strips = 0;  // outputs of a pass
  std::int64_t units_per_tile = 1;

  bool of_inputs() const { return op == Op::conv_input; }
  std::int64_t channels() const { return pixels.channels; }  // of a group, which are read
  std::int64_t outputs() const { return pixels.outputs; }
  std::int64_t in_height() const { return extents.height.read(of_inputs()); }
  std::int64_t in_width() const { return extents.width.read(of_inputs()); }
  std::int64_t out_height() const { return extents.height.written(of_inputs()); }
  std::int64_t out_width() const { return extents.width.written(of_inputs()); }
  std::int64_t of_weight() const { return extents.outputs * extents.taps(); }  // elements of a group
  // The rows and columns of a strip with its padding, and the rows of its results.
  std::int64_t field_height() const { return (rows_of_strip - 1) * row_stride + taps.end - taps.begin; }
  std::int64_t field_width() const { return columns.end - columns.begin; }
  std::int64_t out_rows() const { return rows_of_strip * pixels.row_passes; }

  std::int64_t blocks() const { return divided_up(extents.groups, lanes); }
  std::int64_t units() const { return blocks() * (op == Op::conv_weight ? parts : strips * extents.batch); }
  int tiles() const { return tile_count(units(), units_per_tile); }
};

// Returns how elements of type T are computed this way; nothing if vectors along pixels are faster.
template <class T>
std::optional<DepthwisePlan> depthwise_plan(const ConvExtents& extents, Op op, std::int64_t parts = 1);

template <class T>
std::int64_t depthwise_scratch_bytes(const DepthwisePlan& plan);

// Computes a tile of the operation.
template <class T>
void run_depthwise(const DepthwisePlan& plan, const KernelCall& call, int tile);

}  // namespace asyncgrad::detail
