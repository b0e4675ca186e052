#include "asyncgrad/nn/pool.h"

#include "asyncgrad/autograd/networks/windows.h"
#include "asyncgrad/autograd/reduce.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/nn/layer_options.h"

namespace asyncgrad::nn {

namespace {

PoolOptions checked(const char* layer, const Size2d& kernel, const PoolOptions& options, Location where) {
  const CallSite site(where);
  detail::check_options(layer, kernel, options);
  return options;
}

Pool1dOptions checked(const char* layer, std::int64_t kernel, const Pool1dOptions& options, Location where) {
  checked(layer, {1, kernel}, detail::along_width(options), where);
  return options;
}

}  // namespace

MaxPool2d::MaxPool2d(Size2d kernel_size, PoolOptions options, Location where)
    : kernel_size(kernel_size), options(checked("MaxPool2d", kernel_size, options, where)) {}

AvgPool2d::AvgPool2d(Size2d kernel_size, PoolOptions options, Location where)
    : kernel_size(kernel_size), options(checked("AvgPool2d", kernel_size, options, where)) {}

MaxPool1d::MaxPool1d(std::int64_t kernel_size, Pool1dOptions options, Location where)
    : kernel_size(kernel_size), options(checked("MaxPool1d", kernel_size, options, where)) {}

AvgPool1d::AvgPool1d(std::int64_t kernel_size, Pool1dOptions options, Location where)
    : kernel_size(kernel_size), options(checked("AvgPool1d", kernel_size, options, where)) {}

Upsample::Upsample(std::int64_t scale, InterpolateOptions options, Location where) : scale(scale), options(options) {
  const CallSite site(where);
  check_at_least_one("Upsample", "scale", scale);
  detail::check_options("Upsample", options);
}

Tensor Upsample::operator()(const Arg& x) const {
  detail::check_images("Upsample", layer_detail::shape_of("Upsample", x));
  const auto extent = [&](int axis) { return Shape{scale, x->shape()[axis]}.numel(); };  // throws if it is too large
  return interpolate(x, {extent(2), extent(3)}, options);
}

Tensor GlobalAvgPool2d::operator()(const Arg& x) const {
  detail::check_images("GlobalAvgPool2d", layer_detail::shape_of("GlobalAvgPool2d", x));
  return mean(x, {2, 3});
}

}  // namespace asyncgrad::nn
