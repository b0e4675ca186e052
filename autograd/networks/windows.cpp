#include "asyncgrad/autograd/networks/windows.h"

#include <fmt/format.h>

#include "asyncgrad/core/error.h"

namespace asyncgrad::detail {

namespace {

// a + b c, or -1 if int64 cannot hold it. None is negative.
std::int64_t sum_of(std::int64_t a, std::int64_t b, std::int64_t c) {
  std::int64_t product = 0, sum = 0;
  return __builtin_mul_overflow(b, c, &product) || __builtin_add_overflow(a, product, &sum) ? -1 : sum;
}

}  // namespace

std::string size_str(const Size2d& size) { return fmt::format("({}, {})", size.height, size.width); }

void check_option(const char* operation, const char* name, const Size2d& value, std::int64_t min) {
  if (value.height >= min && value.width >= min) return;
  throw_error(operation, fmt::format("{} must be {} or more, got {}", name, min, size_str(value)));
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
