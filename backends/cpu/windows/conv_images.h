// Convolutions of many small images with few outputs: vectors along the outputs would be mostly empty, and along pixels
// much of what they read would be padding, so they go along images. The sums are the chains of those along pixels, but
// for products with padding, which are left out. Internal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "asyncgrad/backends/cpu/windows/conv_blocks.h"
#include "asyncgrad/backends/cpu/windows/conv_operands.h"
#include "asyncgrad/backends/cpu/windows/conv_pass.h"

namespace asyncgrad::detail {

// Images are taken in panels of a few vectors, and their planes in strips of rows. A unit is a strip of a group in the
// images of a panel. The plan is a function of shapes and of the processor alone.
struct ImagesPlan {
  ConvExtents extents;
  bool of_inputs;
  ConvPlan pixels;                             // of the passes, and of the sums along pixels
  ConvPanels images;                           // of the batch
  Range taps{};                                // rows that taps of all passes read, as distances from an output's first
  std::int64_t row_stride = 1;                 // how far outputs' first rows are apart
  std::int64_t rows_of_strip = 1, strips = 1;  // outputs of a pass
  std::int64_t units_per_tile = 1;

  std::int64_t in_height() const { return extents.height.read(of_inputs); }
  std::int64_t in_width() const { return extents.width.read(of_inputs); }
  std::int64_t out_height() const { return extents.height.written(of_inputs); }
  std::int64_t out_width() const { return extents.width.written(of_inputs); }
  // The rows that a strip reads, and those of its results, at most.
  std::int64_t in_rows() const {
    return std::min(in_height(), (rows_of_strip - 1) * row_stride + taps.end - taps.begin);
  }
  std::int64_t out_rows() const { return std::min(out_height(), rows_of_strip * pixels.row_passes); }
  // The elements of an image in them.
  std::int64_t read_elements() const { return pixels.channels * in_rows() * in_width(); }
  std::int64_t written_elements() const { return pixels.outputs * out_rows() * out_width(); }
  // The images of the widest panel, rounded up to whole vectors.
  std::int64_t most_images() const { return divided_up(images.vectors(), images.count()) * images.lanes; }

  std::int64_t units() const { return extents.groups * images.count() * strips; }
  int tiles() const { return tile_count(units(), units_per_tile); }
};

// Returns how elements of type T are computed this way; nothing if it would not pay.
template <class T>
std::optional<ImagesPlan> images_plan(const ConvExtents& extents, bool of_inputs);

template <class T>
std::int64_t images_scratch_bytes(const ImagesPlan& plan);

// Computes a tile of the operation, with the scratch memory of a thread.
template <class T>
void run_images(const ImagesPlan& plan, const ConvOperands<T>& operands, std::byte* scratch, int tile);

}  // namespace asyncgrad::detail
