// The planes that a block of a convolution's outputs reads, laid out so that every element is a sum of two offsets
// away: one of the output, one of the channel and the element of the kernel. Internal.
#pragma once

#include <algorithm>
#include <cstdint>

#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/backends/cpu/windows/conv_loops.h"

namespace asyncgrad::detail {

constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// How outputs read one axis of the planes: under its tap t, output u has the element u stride + first + t step, or zero
// if that is outside of [0, extent). Tap t is the kernel's element kernel_first + t kernel_step.
struct ConvTaps {
  std::int64_t count, first, step, stride, extent;
  std::int64_t kernel_first = 0, kernel_step = 1;

  std::int64_t at(std::int64_t tap) const { return first + tap * step; }
  std::int64_t kernel(std::int64_t tap) const { return kernel_first + tap * kernel_step; }
  std::int64_t place(std::int64_t tap) const { return floor_div(at(tap), stride); }
  std::int64_t lowest() const { return std::min(place(0), place(count - 1)); }
  std::int64_t highest() const { return std::max(place(0), place(count - 1)); }
  // Taps that differ by a multiple of this read elements at the same distance from a multiple of the stride.
  std::int64_t period() const;
  ConvTaps only(std::int64_t tap) const { return {1, at(tap), step, stride, extent, kernel(tap), kernel_step}; }
  // Whether all that outputs [begin, end) read is inside.
  bool is_inside(Range outputs) const {
    return outputs.begin * stride + std::min(at(0), at(count - 1)) >= 0 &&
           (outputs.end - 1) * stride + std::max(at(0), at(count - 1)) < extent;
  }
};

// Outputs of a convolution: of some images, some rows and some columns.
struct ConvBlock {
  Range images, rows, columns;
  std::int64_t pixels() const {
    return (images.end - images.begin) * (rows.end - rows.begin) * (columns.end - columns.begin);
  }
};

// The planes lie behind each other, one for each channel, and so do the parts of one: with a stride of s, a plane's
// rows and columns are sorted by their distance from a multiple of s, so that adjacent outputs read adjacent elements.
// Elements outside of the image are zeros.
class ConvField {
 public:
  // The source's own planes, where all that is read lies inside: nothing is copied.
  static bool is_source(const ConvTaps& height, const ConvTaps& width, const ConvBlock& block) {
    return height.is_inside(block.rows) && width.is_inside(block.columns);
  }
  // A copy of what the block reads.
  ConvField(const ConvTaps& height, const ConvTaps& width, const ConvBlock& block);

  std::int64_t size() const { return size_; }  // of a channel
  std::int64_t row() const { return columns_; }
  // From the first element to behind the last that one tap of the block's first image reads.
  std::int64_t flat() const {
    return (block_.rows.end - block_.rows.begin - 1) * columns_ + block_.columns.end - block_.columns.begin;
  }
  std::int64_t tap(std::int64_t i, std::int64_t j) const {
    const std::int64_t slot = i % height_slots_ * width_slots_ + j % width_slots_;
    return slot * slot_size_ + (height_.place(i) - height_.lowest()) * columns_ + width_.place(j) - width_.lowest();
  }
  std::int64_t pixel(std::int64_t image, std::int64_t row, std::int64_t column) const {
    return ((image - block_.images.begin) * rows_ + row - block_.rows.begin) * columns_ + column - block_.columns.begin;
  }

  // Copies the planes of one channel; `from` is the channel's plane in the first image of the batch. It may write 64
  // bytes too far.
  template <class T>
  void copy(const ConvLoops<T>& loops, const T* from, std::int64_t image_stride, T* to) const;

 private:
  ConvTaps height_, width_;
  ConvBlock block_;
  std::int64_t height_slots_, width_slots_;
  std::int64_t rows_, columns_, slot_size_, size_;
};

}  // namespace asyncgrad::detail
