#include "asyncgrad/backends/cpu/windows/conv_classes.h"

#include <algorithm>
#include <cstdlib>

namespace asyncgrad::detail {

ConvAxisClasses::ConvAxisClasses(const ConvTaps& axis, Range outputs) {
  for (std::int64_t most_different = 0; !list(axis, outputs, most_different);) {
    most_different = std::max<std::int64_t>(1, 2 * most_different);
  }
}

bool ConvAxisClasses::list(const ConvTaps& axis, Range outputs, std::int64_t most_different) {
  count_ = 0;
  Range first;  // the taps of a class's first output
  for (std::int64_t output = outputs.begin; output < outputs.end; ++output) {
    const Range inside = axis.inside(output);
    if (count_ == 0 || std::abs(inside.begin - first.begin) + std::abs(inside.end - first.end) > most_different) {
      if (count_ == max_count) return false;
      classes_[count_++] = {inside, {output, output}};
      first = inside;
    }
    Class& last = classes_[count_ - 1];
    last.taps = {std::min(last.taps.begin, inside.begin), std::max(last.taps.end, inside.end)};
    last.outputs.end = output + 1;
  }
  return true;
}

namespace {

// A class costs about as much as two pixels more.
bool pays(const ConvAxisClasses& rows, const ConvAxisClasses& columns, std::int64_t images, std::int64_t products) {
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
