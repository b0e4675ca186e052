#include "asyncgrad/autograd/networks/windows.h"

#include <fmt/format.h>

#include "asyncgrad/core/error.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad::detail {

namespace {

// a + b c, or -1 if int64 cannot hold it. None is negative.
std::int64_t sum_of(std::int64_t a, std::int64_t b, std::int64_t c) {
  std::int64_t product = 0, sum = 0;
  return __builtin_mul_overflow(b, c, &product) || __builtin_add_overflow(a, product, &sum) ? -1 : sum;
}

}  // namespace

std::string size_str(const Size2d& size) { return fmt::format("({}, {})", size.height, size.width); }

void check_images(const char* operation, const Shape& x) {
  if (x.rank() == 4) return;
  throw_error(operation, fmt::format("needs x (N, C, H, W), got {}{}", x.str(), image_hint(x, -1, 4)));
}

void check_planes(const char* operation, const Shape& x) {
  check_images(operation, x);
  if (x[2] == 0 || x[3] == 0) throw_error(operation, fmt::format("needs planes with elements, got {}", x.str()));
}

void check_option(const char* operation, const char* name, const Size2d& value, std::int64_t min) {
  if (value.height >= min && value.width >= min) return;
  throw_error(operation, fmt::format("{} must be {} or more, got {}", name, min, size_str(value)));
}

void check_options(const char* operation, const Conv2dOptions& options) {
  check_option(operation, "stride", options.stride, 1);
  check_option(operation, "padding", options.padding, 0);
  check_option(operation, "dilation", options.dilation, 1);
}

void check_options(const char* operation, const ConvTranspose2dOptions& options) {
  const auto& [stride, padding, more, dilation, groups] = options;
  check_options(operation, Conv2dOptions{.stride = stride, .padding = padding, .dilation = dilation});
  check_option(operation, "output_padding", more, 0);
  const bool fits = (more.height < stride.height || more.height < dilation.height) &&
                    (more.width < stride.width || more.width < dilation.width);
  if (fits) return;
  throw_error(operation, fmt::format("output_padding must be less than the stride or the dilation: output_padding {}, "
                                     "stride {}, dilation {}",
                                     size_str(more), size_str(stride), size_str(dilation)));
}

Size2d stride_of(const Size2d& kernel, const PoolOptions& options) {
  const Size2d& stride = options.stride;
  return {stride.height == 0 ? kernel.height : stride.height, stride.width == 0 ? kernel.width : stride.width};
}

void check_options(const char* operation, const Size2d& kernel, const PoolOptions& options) {
  const Size2d& padding = options.padding;
  check_option(operation, "kernel_size", kernel, 1);
  check_option(operation, "stride", stride_of(kernel, options), 1);
  check_option(operation, "padding", padding, 0);
  if (padding.height <= kernel.height / 2 && padding.width <= kernel.width / 2) return;
  throw_error(operation, fmt::format("padding may be half of the kernel_size at most: padding {}, kernel_size {}",
                                     size_str(padding), size_str(kernel)));
}

void check_options(const char* operation, const InterpolateOptions& options) {
  const bool is_nearest = options.mode == Interpolation::nearest;
  if (is_nearest && options.align_corners) throw_error(operation, "align_corners is for bilinear");
}

Conv2dOptions along_width(const Conv1dOptions& options) {
  return {.stride = {1, options.stride},
          .padding = {0, options.padding},
          .dilation = {1, options.dilation},
          .groups = options.groups};
}

ConvTranspose2dOptions along_width(const ConvTranspose1dOptions& options) {
  return {.stride = {1, options.stride},
          .padding = {0, options.padding},
          .output_padding = {0, options.output_padding},
          .dilation = {1, options.dilation},
          .groups = options.groups};
}

PoolOptions along_width(const Pool1dOptions& options) {
  return {.stride = {options.stride == 0 ? 0 : 1, options.stride}, .padding = {0, options.padding}};
}

Size2d window_counts(const char* operation, const Size2d& input, const Windows& windows) {
  const auto& [kernel, stride, padding, dilation] = windows;
  const Size2d padded{sum_of(input.height, 2, padding.height), sum_of(input.width, 2, padding.width)};
  const Size2d window{sum_of(1, kernel.height - 1, dilation.height), sum_of(1, kernel.width - 1, dilation.width)};
  const bool fits = padded.height >= 0 && padded.width >= 0 && window.height >= 0 && window.width >= 0;
  if (!fits || window.height > padded.height || window.width > padded.width) {
    throw_error(operation, fmt::format("{}: input {}, kernel {}, padding {}, dilation {}{}",
                                       fits ? "the kernel is larger than the padded input" : "numbers are too large",
                                       size_str(input), size_str(kernel), size_str(padding), size_str(dilation),
                                       fits ? "; take a smaller kernel, or fewer strides and pools before it" : ""));
  }
  return {(padded.height - window.height) / stride.height + 1, (padded.width - window.width) / stride.width + 1};
}

}  // namespace asyncgrad::detail
