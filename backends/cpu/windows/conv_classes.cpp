#include "asyncgrad/backends/cpu/windows/conv_classes.h"

namespace asyncgrad::detail {

ConvAxisClasses::ConvAxisClasses(const ConvTaps& axis, Range outputs) {
  for (std::int64_t output = outputs.begin; output < outputs.end && !are_too_many_; ++output) {
    const Range inside = axis.inside(output);
    if (count_ == 0 || classes_[count_ - 1].taps != inside) {
      are_too_many_ = count_ == max_count;
      if (are_too_many_) return;
      classes_[count_++] = {inside, {output, output}};
    }
    ++classes_[count_ - 1].outputs.end;
  }
}

namespace {

// A class costs about as much as two pixels more.
bool pays(const ConvAxisClasses& rows, const ConvAxisClasses& columns, std::int64_t images, std::int64_t products) {
  if (rows.are_too_many() || columns.are_too_many()) return false;
  constexpr std::int64_t of_class = 2;
  std::int64_t sum = 0;
  for (const ConvAxisClasses::Class& row : rows.all()) {
    for (const ConvAxisClasses::Class& column : columns.all()) {
      const std::int64_t pixels = images * row.output_count() * column.output_count();
      sum += (pixels + of_class) * row.tap_count() * column.tap_count();
    }
  }
  return leaving_out_padding_pays(sum, products);
}

}  // namespace

ConvClasses::ConvClasses(const ConvTaps& height, const ConvTaps& width, const ConvBlock& block, const ConvField& field,
                         std::int64_t* offsets, std::int64_t* numbers) {
  const ConvAxisClasses rows(height, block.rows), columns(width, block.columns);
  if (!pays(rows, columns, block.images.end - block.images.begin, block.pixels() * height.count * width.count)) {
    const std::int64_t pixels = field.list_pixels(block.rows, block.columns, offsets, numbers);
    classes_[count_++] = {{0, height.count}, {0, width.count}, {0, pixels}};
    return;
  }
  std::int64_t listed = 0;
  for (const ConvAxisClasses::Class& row : rows.all()) {
    for (const ConvAxisClasses::Class& column : columns.all()) {
      const std::int64_t first = listed;
      listed += field.list_pixels(row.outputs, column.outputs, offsets + first, numbers + first);
      classes_[count_++] = {row.taps, column.taps, {first, listed}};
    }
  }
}

}  // namespace asyncgrad::detail
