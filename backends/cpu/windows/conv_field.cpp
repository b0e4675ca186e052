#include "asyncgrad/backends/cpu/windows/conv_field.h"

#include <numeric>

#include "asyncgrad/backends/cpu/windows/conv_copies.h"

namespace asyncgrad::detail {

std::int64_t ConvTaps::period() const { return stride / std::gcd(step, stride); }

ConvField::ConvField(const ConvTaps& height, const ConvTaps& width, const ConvBlock& block, const ConvStrides& source,
                     bool may_be_apart)
    : block_(block),
      source_(source),
      is_source_(may_be_apart && height.is_inside(block.rows) && width.is_inside(block.columns)) {
  lay_out(height, width, block.rows, block.columns);
  sorted_size_ = size_;
  if (is_source_) {
    row_step_ = height.stride, column_step_ = width.stride;
  } else if (may_be_apart && (height.stride > 1 || width.stride > 1)) {
    // As for a stride of 1, of whose outputs those of the block are some.
    const auto all_of = [](Range outputs, std::int64_t stride) {
      return Range{outputs.begin * stride, (outputs.end - 1) * stride + 1};
    };
    ConvTaps all_rows = height, all_columns = width;
    all_rows.stride = all_columns.stride = 1;
    ConvField other = *this;
    other.lay_out(all_rows, all_columns, all_of(block.rows, height.stride), all_of(block.columns, width.stride));
    if (other.size_ > size_) return;
    *this = other;
    row_step_ = height.stride, column_step_ = width.stride;
  }
}

void ConvField::lay_out(const ConvTaps& height, const ConvTaps& width, Range rows, Range columns) {
  height_ = height, width_ = width, of_rows_ = rows, of_columns_ = columns;
  height_slots_ = height.periods(), width_slots_ = width.periods();
  lowest_row_ = height.lowest(), lowest_column_ = width.lowest();
  rows_ = rows.end - rows.begin + height.highest() - lowest_row_;
  columns_ = columns.end - columns.begin + width.highest() - lowest_column_;
  slot_size_ = (block_.images.end - block_.images.begin) * rows_ * columns_;
  size_ = height_slots_ * width_slots_ * slot_size_;
}

template <class T>
void ConvField::copy(const T* from, std::int64_t channels, T* to) const {
  const ConvCopies<T>& copies = conv_copies().of<T>();
  // The first line or element that the slot of a tap holds.
  const auto first_of = [](const ConvTaps& taps, Range outputs, std::int64_t tap) {
    return (outputs.begin + taps.lowest()) * taps.stride + taps.at(tap) - taps.place(tap) * taps.stride;
  };
  // In the order in which they lie, as what is written reaches into what follows.
  for (std::int64_t channel = 0; channel < channels; ++channel, from += source_.channel) {
    for (std::int64_t i = 0; i < height_slots_; ++i) {
      for (std::int64_t j = 0; j < width_slots_; ++j, to += slot_size_) {
        const std::int64_t first = first_of(width_, of_columns_, j), step = width_.stride;
        const std::int64_t begin = std::clamp<std::int64_t>(-floor_div(first, step), 0, columns_);
        copies.copy({.from = from,
                     .image_stride = source_.image,
                     .height = height_.extent,
                     .width = width_.extent,
                     .images = block_.images,
                     .rows = rows_,
                     .first_row = first_of(height_, of_rows_, i),
                     .row_step = height_.stride,
                     .columns = columns_,
                     .first_column = first,
                     .column_step = step,
                     .begin = begin,
                     .end = std::clamp(-floor_div(first - width_.extent, step), begin, columns_),
                     .to = to});
      }
    }
  }
  std::fill_n(to, copies.lanes, T{});
}
template void ConvField::copy(const float*, std::int64_t, float*) const;
template void ConvField::copy(const double*, std::int64_t, double*) const;

}  // namespace asyncgrad::detail
