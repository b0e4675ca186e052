// Windows that go through the axes of an input: what convolution and pooling have in common. Internal.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "asyncgrad/autograd/conv.h"
#include "asyncgrad/autograd/interpolate.h"
#include "asyncgrad/autograd/pool.h"

namespace asyncgrad::detail {

constexpr std::array<std::int64_t, 2> array_of(const Size2d& size) { return {size.height, size.width}; }
std::string size_str(const Size2d& size);  // "(2, 1)"

// Throws Error unless x is (N, C, H, W).
void check_images(const char* operation, const Shape& x);
// The same unless H and W are at least 1, too.
void check_planes(const char* operation, const Shape& x);

// Throws Error unless both numbers are at least `min`.
void check_option(const char* operation, const char* name, const Size2d& value, std::int64_t min);

// Throw Error for options that fit no input: operations and layers call them alike. Groups are checked with the channels.
void check_options(const char* operation, const Conv2dOptions& options);
void check_options(const char* operation, const ConvTranspose2dOptions& options);
void check_options(const char* operation, const Size2d& kernel, const PoolOptions& options);
void check_options(const char* operation, const InterpolateOptions& options);

// Options for one axis as those for two, of which the first, the height, is left as it is.
Conv2dOptions along_width(const Conv1dOptions& options);
ConvTranspose2dOptions along_width(const ConvTranspose1dOptions& options);
PoolOptions along_width(const Pool1dOptions& options);

// The stride of a pool: that of the options, or the kernel.
Size2d stride_of(const Size2d& kernel, const PoolOptions& options);

struct Windows {
  Size2d kernel, stride, padding, dilation;
};
// The number of windows in an input (H, W), all options of which have been checked. Throws Error if there are none, and
// if numbers do not fit.
Size2d window_counts(const char* operation, const Size2d& input, const Windows& windows);

}  // namespace asyncgrad::detail
