#include "asyncgrad/backends/cpu/windows/conv_blocks.h"

#include <numeric>

namespace asyncgrad::detail {

// Output u' reads input h under element i where u' stride - padding + i dilation = h = u stride + rest. Every
// (stride / gcd)-th i has such an output.
ConvTaps taps_of_inputs(const ConvAxis& axis, std::int64_t rest) {
  const std::int64_t stride = axis.stride, dilation = axis.dilation;
  const std::int64_t common = std::gcd(stride, dilation), kernel_step = stride / common;
  for (std::int64_t i = 0; i < std::min(axis.kernel, kernel_step); ++i) {
    const std::int64_t distance = rest + axis.padding - i * dilation;
    if (distance % stride != 0) continue;
    return {
        (axis.kernel - 1 - i) / kernel_step + 1, distance / stride, -dilation / common, 1, axis.out, i, kernel_step};
  }
  return {0, 0, 1, 1, axis.out};
}

ConvGrid::ConvGrid(std::int64_t images, std::int64_t rows, std::int64_t columns, std::int64_t max_pixels,
                   bool one_image)
    : images_(images) {
  column_parts_ = std::max<std::int64_t>(1, divided_up(columns, max_pixels));
  columns_per_ = divided_up(std::max<std::int64_t>(1, columns), column_parts_);
  row_parts_ = std::max<std::int64_t>(1, divided_up(rows, std::max<std::int64_t>(1, max_pixels / columns_per_)));
  rows_per_ = divided_up(std::max<std::int64_t>(1, rows), row_parts_);
  const bool takes_images = !one_image && row_parts_ * column_parts_ == 1;
  const std::int64_t most = takes_images ? std::max<std::int64_t>(1, max_pixels / (rows_per_ * columns_per_)) : 1;
  image_parts_ = divided_up(images, most);
  images_per_ = divided_up(images, std::max<std::int64_t>(1, image_parts_));
}

ConvBlock ConvGrid::block(std::int64_t index, std::int64_t rows, std::int64_t columns) const {
  const auto part = [](std::int64_t i, std::int64_t length, std::int64_t total) {
    return Range{std::min(total, i * length), std::min(total, (i + 1) * length)};
  };
  return {part(index / (row_parts_ * column_parts_), images_per_, images_),
          part(index / column_parts_ % row_parts_, rows_per_, rows),
          part(index % column_parts_, columns_per_, columns)};
}

}  // namespace asyncgrad::detail
