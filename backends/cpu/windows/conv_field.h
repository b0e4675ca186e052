// The planes that a block of a convolution's outputs reads, laid out so that every element is a sum of two offsets
// away: one of the output, one of the channel and the element of the kernel. Internal.
#pragma once

#include <algorithm>
#include <cstdint>

#include "asyncgrad/backends/cpu/tiling.h"

namespace asyncgrad::detail {

constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) { return b == 1 ? a : a / b - (a % b < 0 ? 1 : 0); }

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
  // Those taps are a class, of which there are periods(). Its taps by the places of what they read:
  std::int64_t periods() const { return std::min(count, period()); }
  struct Class {
    std::int64_t count, first, step;
    std::int64_t tap(std::int64_t i) const { return first + i * step; }
  };
  Class of_class(std::int64_t index, std::int64_t periods) const {
    const std::int64_t in_class = (count - 1 - index) / periods + 1;
    if (step < 0) return {in_class, index + (in_class - 1) * periods, -periods};
    return {in_class, index, periods};
  }
  ConvTaps only(std::int64_t tap) const { return {1, at(tap), step, stride, extent, kernel(tap), kernel_step}; }
  // The taps under which an output reads what is inside: a range of them, as it moves one way.
  Range inside(std::int64_t output) const {
    const auto is_inside = [&](std::int64_t tap) {
      const std::int64_t element = output * stride + at(tap);
      return element >= 0 && element < extent;
    };
    std::int64_t begin = 0, end;
    while (begin < count && !is_inside(begin)) ++begin;
    for (end = begin; end < count && is_inside(end);) ++end;
    return begin == end ? Range{} : Range{begin, end};
  }
  // Those of some outputs that read what is inside under a tap.
  Range outputs_inside(std::int64_t tap, Range outputs) const {
    const std::int64_t begin = std::clamp(-floor_div(at(tap), stride), outputs.begin, outputs.end);
    return {begin, std::clamp(-floor_div(at(tap) - extent, stride), begin, outputs.end)};
  }
  // How many elements that some outputs read are inside, each as often as it is read.
  std::int64_t count_inside(Range outputs) const {
    std::int64_t sum = 0;
    for (std::int64_t tap = 0; tap < count; ++tap) {
      const Range some = outputs_inside(tap, outputs);
      sum += some.end - some.begin;
    }
    return sum;
  }
  // Whether all that outputs [begin, end) read is inside.
  bool is_inside(Range outputs) const {
    return outputs.begin * stride + std::min(at(0), at(count - 1)) >= 0 &&
           (outputs.end - 1) * stride + std::max(at(0), at(count - 1)) < extent;
  }
};

// Whether it pays to leave out products with padding, if `inside` of `all` have none.
constexpr bool leaving_out_padding_pays(std::int64_t inside, std::int64_t all) { return inside * 20 <= all * 19; }

// Outputs of a convolution: of some images, some rows and some columns.
struct ConvBlock {
  Range images, rows, columns;
  std::int64_t pixels() const {
    return (images.end - images.begin) * (rows.end - rows.begin) * (columns.end - columns.begin);
  }
};

// How far apart images and channels lie in what is read.
struct ConvStrides {
  std::int64_t image, channel;
};

// to[i] = first + i step, several at a time.
inline void count_up(std::int64_t first, std::int64_t step, std::int64_t count, std::int64_t* to) {
  for (std::int64_t i = 0; i < count; ++i, first += step) to[i] = first;
}

// Either a copy of what a block reads. The planes lie behind each other, one for each channel, and so do the parts of
// one: with a stride of s, a plane's rows and columns are sorted by their distance from a multiple of s, so that adjacent
// outputs read adjacent elements. Elements outside of the image are zeros.
// Or, where outputs may read elements that are apart, a copy in the order of the source if it is not larger, or the
// source itself if all that is read lies inside.
class ConvField {
 public:
  ConvField(const ConvTaps& height, const ConvTaps& width, const ConvBlock& block, const ConvStrides& source,
            bool may_be_apart);

  bool is_source() const { return is_source_; }
  std::int64_t size() const { return size_; }  // of a channel's planes
  std::int64_t channel() const { return is_source_ ? source_.channel : size_; }
  std::int64_t row() const { return columns_; }  // from one output row to the next, of what is sorted
  std::int64_t lines() const { return rows_; }   // of an image
  // From the first element to behind the last that one tap reads.
  std::int64_t flat() const {
    return ((block_.images.end - block_.images.begin - 1) * rows_ + block_.rows.end - block_.rows.begin - 1) *
               columns_ +
           block_.columns.end - block_.columns.begin;
  }
  // An element is this far away from a channel's first: of_row(i) + of_column(j) for the tap, and an offset for the
  // output.
  std::int64_t of_row(std::int64_t i) const {
    if (is_source_) return height_.at(i) * width_.extent;
    const std::int64_t slot = height_slots_ == 1 ? 0 : i % height_slots_;
    return slot * width_slots_ * slot_size_ + (height_.place(i) - lowest_row_) * columns_;
  }
  std::int64_t of_column(std::int64_t j) const {
    if (is_source_) return width_.at(j);
    return (width_slots_ == 1 ? 0 : j % width_slots_) * slot_size_ + width_.place(j) - lowest_column_;
  }
  // Lists of_column(j) + plus for some taps.
  void list_columns(Range taps, std::int64_t plus, std::int64_t* to) const {
    if (is_source_ || width_slots_ == 1) {  // then the stride divides the step, or there is one tap
      const std::int64_t step = is_source_ ? width_.step : width_.step / width_.stride;
      return count_up(of_column(taps.begin) + plus, step, taps.end - taps.begin, to);
    }
    for (std::int64_t j = taps.begin; j < taps.end; ++j) *to++ = of_column(j) + plus;
  }
  // Calls visit(image, row, offset of its first output) for each row of the block.
  template <class Visit>
  void each_row(Visit visit) const {
    for (std::int64_t image = block_.images.begin; image < block_.images.end; ++image) {
      for (std::int64_t row = block_.rows.begin; row < block_.rows.end; ++row) {
        visit(image, row, offset(image - block_.images.begin, row - block_.rows.begin, 0));
      }
    }
  }
  // The offset of an output; image, row and column count from the block's first.
  std::int64_t offset(std::int64_t image, std::int64_t row, std::int64_t column) const {
    if (!is_source_) return (image * rows_ + row * row_step_) * columns_ + column * column_step_;
    return (block_.images.begin + image) * source_.image + (block_.rows.begin + row) * row_step_ * width_.extent +
           (block_.columns.begin + column) * column_step_;
  }
  // Lists the outputs of the block in some of its rows and columns: the offset of each, and its number in the block.
  // Returns how many they are.
  std::int64_t list_pixels(Range rows, Range columns, std::int64_t* offsets, std::int64_t* numbers) const {
    const std::int64_t lines = block_.rows.end - block_.rows.begin, length = block_.columns.end - block_.columns.begin;
    const std::int64_t first = columns.begin - block_.columns.begin, count = columns.end - columns.begin;
    std::int64_t listed = 0;
    for (std::int64_t image = 0; image < block_.images.end - block_.images.begin; ++image) {
      for (std::int64_t row = rows.begin - block_.rows.begin; row < rows.end - block_.rows.begin; ++row) {
        count_up(offset(image, row, first), column_step_, count, offsets + listed);
        count_up((image * lines + row) * length + first, 1, count, numbers + listed);
        listed += count;
      }
    }
    return listed;
  }

  // Whether copies for each element of the kernel apart are smaller than this, or this does not fit into max_elements. It
  // counts what is sorted, as the order of sums hangs on it.
  bool suits_columns(std::int64_t max_elements) const {
    return !is_source_ && sorted_size_ > std::min(max_elements, height_.count * width_.count * block_.pixels());
  }
  // Calls visit(channels, planes) for ranges of channels, with their planes one behind the other: in the source, whose
  // plane of channel 0 in the first image is `source`, or copied to `memory`, as many as fit into max_elements. Behind
  // copies are zeros of the length of a vector.
  template <class T, class Visit>
  void each_channels(const T* source, Range channels, T* memory, std::int64_t max_elements, Visit visit) const {
    const std::int64_t all = channels.end - channels.begin;
    const std::int64_t step = is_source_ ? all : std::max<std::int64_t>(1, max_elements / size_);
    for (std::int64_t first = channels.begin; first < channels.end; first += step) {
      const Range part{first, std::min(channels.end, first + step)};
      const T* const planes = source + first * source_.channel;
      if (!is_source_) copy(planes, part.end - part.begin, memory);
      visit(part, is_source_ ? planes : memory);
    }
  }

 private:
  // Copies the planes of some channels; `from` is the plane of the first in the first image of the batch. Behind them
  // are zeros of the length of a vector.
  template <class T>
  void copy(const T* from, std::int64_t channels, T* to) const;

  // Lays out the planes for outputs of these rows and columns.
  void lay_out(const ConvTaps& height, const ConvTaps& width, Range rows, Range columns);

  ConvBlock block_;
  ConvStrides source_;
  bool is_source_;
  ConvTaps height_{}, width_{};  // for which the planes are laid out, and the outputs
  Range of_rows_{}, of_columns_{};
  std::int64_t row_step_ = 1, column_step_ = 1;  // from one output of the block to the next
  std::int64_t height_slots_ = 1, width_slots_ = 1, lowest_row_ = 0, lowest_column_ = 0;
  std::int64_t rows_ = 0, columns_ = 0, slot_size_ = 0, size_ = 0, sorted_size_;
};

}  // namespace asyncgrad::detail
