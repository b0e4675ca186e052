#include "asyncgrad/backends/cpu/windows/conv_classes.h"

#include <algorithm>
#include <cstdlib>

namespace asyncgrad::detail {

ConvAxisClasses::ConvAxisClasses(const ConvTaps& axis, Range outputs) {
  for (std::int64_t most_different = 0; !list(axis, outputs, most_different);) {
    most_different = std::max<std::int64_t>(1, 2 * most_different);
  }
}

ConvAxisClasses ConvAxisClasses::whole(const ConvTaps& axis, Range outputs) {
  ConvAxisClasses one;
  one.classes_[one.count_++] = {{0, axis.count}, outputs};
  return one;
}

bool ConvAxisClasses::list(const ConvTaps& axis, Range outputs, std::int64_t most_different) {
  count_ = 0;
  Range first{};  // the taps of a class's first output
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

// The cost, in products of one pixel. A class costs about as much as two pixels more, and few pixels, whose sums wait
// for each other, as much as four.
std::int64_t cost(const ConvAxisClasses& rows, const ConvAxisClasses& columns, std::int64_t images) {
  constexpr std::int64_t of_class = 2, least = 4;
  std::int64_t sum = 0;
  for (const ConvAxisClasses::Class& row : rows.all()) {
    for (const ConvAxisClasses::Class& column : columns.all()) {
      const std::int64_t pixels = images * row.output_count() * column.output_count();
      sum += (std::max(pixels, least) + of_class) * row.tap_count() * column.tap_count();
    }
  }
  return sum;
}

}  // namespace

ConvClasses::ConvClasses(const ConvTaps& height, const ConvTaps& width, const ConvBlock& block, const ConvField& field,
                         std::int64_t* offsets, std::int64_t* numbers) {
  const ConvAxisClasses rows[] = {ConvAxisClasses::whole(height, block.rows), {height, block.rows}};
  const ConvAxisClasses columns[] = {ConvAxisClasses::whole(width, block.columns), {width, block.columns}};
  const std::int64_t images = block.images.end - block.images.begin;
  const ConvAxisClasses *best_rows = &rows[0], *best_columns = &columns[0];
  std::int64_t least = block.pixels() * height.count * width.count;
  for (const ConvAxisClasses& of_rows : rows) {
    for (const ConvAxisClasses& of_columns : columns) {
      const std::int64_t products = cost(of_rows, of_columns, images);
      if (!leaving_out_padding_pays(products, least)) continue;
      least = products, best_rows = &of_rows, best_columns = &of_columns;
    }
  }
  std::int64_t listed = 0;
  for (const ConvAxisClasses::Class& row : best_rows->all()) {
    for (const ConvAxisClasses::Class& column : best_columns->all()) {
      const std::int64_t first = listed;
      listed += field.list_pixels(row.outputs, column.outputs, offsets + first, numbers + first);
      classes_[count_++] = {row.taps, column.taps, {first, listed}};
    }
  }
}

}  // namespace asyncgrad::detail
