// Planes of another size. Each axis is a selection of rows, or a weighted mean of two selections.
#include <algorithm>
#include <cmath>
#include <vector>

#include "asyncgrad/autograd/conv.h"
#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/indexing.h"
#include "asyncgrad/autograd/networks/windows.h"
#include "asyncgrad/autograd/tape/operands.h"

namespace asyncgrad {

using namespace detail;

namespace {

Tensor rows_of(const Tensor& x, const std::vector<std::int64_t>& places, int axis, Location where) {
  const Tensor indices = Tensor::from(places, {static_cast<std::int64_t>(places.size())}, x.device(), where);
  return take(Arg(x, where), Arg(indices, where), axis);
}

Tensor nearest(const Tensor& x, int axis, std::int64_t out, Location where) {
  const std::int64_t in = x.shape()[axis];
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < out; ++i) places.push_back(std::min(in - 1, i * in / out));
  return rows_of(x, places, axis, where);
}

// The place in the input, which has two neighbours there.
double source_of(std::int64_t i, std::int64_t in, std::int64_t out, bool align_corners) {
  if (align_corners) return out == 1 ? 0 : static_cast<double>(i * (in - 1)) / static_cast<double>(out - 1);
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  return std::max(0.0, (static_cast<double>(i) + 0.5) * scale - 0.5);
}

Tensor linear(const Tensor& x, int axis, std::int64_t out, bool align_corners, Location where) {
  const std::int64_t in = x.shape()[axis];
  std::vector<std::int64_t> below, above;
  std::vector<double> shares;
  for (std::int64_t i = 0; i < out; ++i) {
    const double source = source_of(i, in, out, align_corners);
    const auto floor = std::min(in - 1, static_cast<std::int64_t>(source));
    below.push_back(floor);
    above.push_back(std::min(in - 1, floor + 1));
    shares.push_back(source - static_cast<double>(floor));
  }
  const auto at = [&](const Tensor& tensor) { return Arg(tensor, where); };
  Shape along;  // so that the shares are broadcast along the axis
  for (int i = axis; i < x.rank(); ++i) along.append(i == axis ? out : 1);
  const Tensor share = Tensor::from(shares, along, x.device(), where).to(x.dtype(), where);
  const Tensor low = rows_of(x, below, axis, where), high = rows_of(x, above, axis, where);
  return at(low) + at(at(share) * at(at(high) - at(low)));
}

}  // namespace

Tensor interpolate(const Arg& x, Size2d size, const InterpolateOptions& options) {
  const NamedOperand in{"x", checked_operand(x, "interpolate")};
  check_dtype(Op::conv, "interpolate", in);
  const Shape& shape = in.impl.shape;
  check_planes("interpolate", shape);
  check_option("interpolate", "size", size, 1);
  check_options("interpolate", options);
  const bool is_nearest = options.mode == Interpolation::nearest;
  const Location where = x.where();
  Tensor y = x.tensor();
  for (const auto& [axis, extent] : {std::pair(2, size.height), std::pair(3, size.width)}) {
    if (extent == shape[axis]) continue;
    y = is_nearest ? nearest(y, axis, extent, where) : linear(y, axis, extent, options.align_corners, where);
  }
  return y;
}

}  // namespace asyncgrad
