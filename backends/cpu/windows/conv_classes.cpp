#include "asyncgrad/backends/cpu/windows/conv_classes.h"

#include <algorithm>
#include <numeric>

namespace asyncgrad::detail {

ConvAxisClasses::ConvAxisClasses(const ConvTaps& axis, Range outputs) : axis_(axis), outputs_(outputs) {
  for (std::int64_t output = outputs.begin; output < outputs.end && !are_too_many_; ++output) {
    const Range inside = axis.inside(output);
    if (std::ranges::find(taps(), inside) != taps().end()) continue;
    are_too_many_ = count_ == max_count;
    if (!are_too_many_) taps_[count_++] = inside;
  }
}

std::int64_t ConvAxisClasses::outputs_of(Range taps) const {
  std::int64_t count = 0;
  each_output(taps, [&](std::int64_t) { ++count; });
  return count;
}

namespace {

// A class costs about as much as two pixels more.
bool pays(const ConvAxisClasses& rows, const ConvAxisClasses& columns, std::int64_t images, std::int64_t products) {
  if (rows.are_too_many() || columns.are_too_many()) return false;
  constexpr std::int64_t of_class = 2;
  std::int64_t sum = 0;
  for (const Range row_taps : rows.taps()) {
    for (const Range column_taps : columns.taps()) {
      const std::int64_t pixels = images * rows.outputs_of(row_taps) * columns.outputs_of(column_taps);
      sum += (pixels + of_class) * ConvClass{row_taps, column_taps, {}}.taps();
    }
  }
  return sum * 20 <= products * 19;
}

}  // namespace

ConvClasses::ConvClasses(const ConvTaps& height, const ConvTaps& width, const ConvBlock& block, const ConvField& field,
                         std::int64_t* offsets, std::int64_t* numbers) {
  const std::int64_t images = block.images.end - block.images.begin;
  const std::int64_t lines = block.rows.end - block.rows.begin, length = block.columns.end - block.columns.begin;
  const std::int64_t taps = height.count * width.count;
  const ConvAxisClasses rows(height, block.rows), columns(width, block.columns);
  if (!pays(rows, columns, images, block.pixels() * taps)) {
    classes_[count_++] = {{0, height.count}, {0, width.count}, {0, block.pixels()}};
    field.set_offsets(offsets);
    std::iota(numbers, numbers + block.pixels(), 0);
    return;
  }
  std::int64_t listed = 0;
  for (const Range row_taps : rows.taps()) {
    for (const Range column_taps : columns.taps()) {
      const std::int64_t first = listed;
      for (std::int64_t image = 0; image < images; ++image) {
        rows.each_output(row_taps, [&](std::int64_t row) {
          columns.each_output(column_taps, [&](std::int64_t column) {
            const std::int64_t line = row - block.rows.begin, at = column - block.columns.begin;
            offsets[listed] = field.offset(image, line, at);
            numbers[listed++] = (image * lines + line) * length + at;
          });
        });
      }
      classes_[count_++] = {row_taps, column_taps, {first, listed}};
    }
  }
}

}  // namespace asyncgrad::detail
