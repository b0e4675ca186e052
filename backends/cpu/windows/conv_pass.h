// How a convolution, or the gradient of its input, is cut into passes, blocks and tiles (conv.cpp). Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/backends/cpu/windows/conv_blocks.h"

namespace asyncgrad::detail {

// The products of a tile, about.
inline constexpr double conv_macs_per_tile = 1 << 20;

// The outputs between two strides, which all read the same distances from them.
struct ConvPass {
  ConvTaps height, width;
  std::int64_t rows, columns;                                   // of outputs
  std::int64_t first_row, first_column, row_step, column_step;  // where they lie in the result
  std::int64_t taps() const { return height.count * width.count; }
};

// The one pass of a convolution, or that of inputs this far behind a stride.
ConvPass conv_pass(const ConvExtents& extents, bool of_inputs, std::int64_t row_rest, std::int64_t column_rest);

// The products of a pass for one image, input and output: how many are computed with vectors along its pixels, and how
// many read what is inside.
struct ConvWork {
  double along_pixels, inside;
};
// For vectors of so many elements. There are taps.
ConvWork conv_work(const ConvPass& pass, std::int64_t lanes);

// The order in which a sum takes the elements of the kernel.
enum class ConvOrder {
  channels,  // row by row in each channel
  taps,      // element by element, each in all channels
  planes,    // of the one channel, class by class of the kernel's rows, see ConvTaps::of_class()
};

// The counts of a group's channels, which are read, and outputs, and how all is cut. A unit is a block of pixels and a
// part of the outputs of a group, and a tile is of some units. It is a function of shapes and of the processor alone.
struct ConvPlan {
  static constexpr std::int64_t max_outputs = 128;  // of a unit

  std::int64_t groups, channels, outputs, row_passes, column_passes;
  bool gathers = false;  // vectors go along the outputs, else along the pixels
  ConvGrid grid{};
  std::int64_t output_parts = 1, units_per_tile = 1;

  std::int64_t units() const { return row_passes * column_passes * grid.count() * groups * output_parts; }
  int tiles() const { return tile_count(units(), units_per_tile); }
};

// For vectors of so many elements.
ConvPlan conv_plan(const ConvExtents& extents, bool of_inputs, std::int64_t lanes);

// Returns the order of the sums of a block with so many columns, of which this is the field.
ConvOrder conv_order(const ConvPlan& plan, const ConvPass& pass, const ConvField& field, std::int64_t columns);
// Returns that of the sums along pixels of the first block.
ConvOrder conv_pixel_order(const ConvPlan& plan, const ConvPass& pass);

// Calls visit(channel, i, j) for taps i of `rows` and j of `columns` in all channels, in the order of a sum.
template <class Visit>
void each_tap(const ConvPlan& plan, const ConvPass& pass, ConvOrder order, Range rows, Range columns, Visit visit) {
  const auto visit_row = [&](std::int64_t channel, std::int64_t i) {
    for (std::int64_t j = columns.begin; j < columns.end; ++j) visit(channel, i, j);
  };
  switch (order) {
    case ConvOrder::channels:
      for (std::int64_t c = 0; c < plan.channels; ++c) {
        for (std::int64_t i = rows.begin; i < rows.end; ++i) visit_row(c, i);
      }
      break;
    case ConvOrder::taps:
      for (std::int64_t i = rows.begin; i < rows.end; ++i) {
        for (std::int64_t j = columns.begin; j < columns.end; ++j) {
          for (std::int64_t c = 0; c < plan.channels; ++c) visit(c, i, j);
        }
      }
      break;
    case ConvOrder::planes:
      const std::int64_t periods = pass.height.periods();
      for (std::int64_t index = 0; index < periods; ++index) {
        const ConvTaps::Class some = pass.height.of_class(index, periods);
        for (std::int64_t i = 0; i < some.count; ++i) {
          if (some.tap(i) >= rows.begin && some.tap(i) < rows.end) visit_row(0, some.tap(i));
        }
      }
      break;
  }
}

// Returns the distances from an output's first element, 0 among them, at which the passes along an axis read.
Range conv_distances(const ConvAxis& axis, bool of_inputs, std::int64_t passes);

}  // namespace asyncgrad::detail
