// Copies that are larger than their source: expand, tile and pad.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "asyncgrad/autograd/forms/broadcast.h"
#include "asyncgrad/autograd/forms/parts.h"
#include "asyncgrad/autograd/forms/reductions.h"
#include "asyncgrad/autograd/forms/strided.h"
#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad {

using namespace detail;

namespace {

std::int64_t repeated_extent(std::int64_t extent, std::int64_t repeats) {
  std::int64_t result = 0;
  if (!__builtin_mul_overflow(extent, repeats, &result)) return result;
  throw_error("tile", fmt::format("an axis of {} cannot be repeated {} times; repeats must not be negative, nor give "
                                  "more than 2^63 - 1 elements",
                                  extent, repeats));
}

// `shape` with leading axes of extent 1, up to `rank` axes.
Shape with_leading_ones(const Shape& shape, int rank) {
  Shape result;
  for (int i = shape.rank(); i < rank; ++i) result.append(1);
  for (const std::int64_t extent : shape) result.append(extent);
  return result;
}

// The axes of a tiled tensor, with each repetition as an axis of its own.
struct TiledAxes {
  struct Axis {
    std::int64_t extent, stride;  // the stride of a repetition is 0
  };
  std::vector<Axis> axes;
  AxisMask repetitions = 0;

  TiledAxes(const Shape& shape, const Shape& repeats) {
    const Region all = whole(shape);
    bool joins = false;  // the axis is a neighbour of the one before, without a repetition between them
    for (int i = 0; i < shape.rank(); ++i) {
      if (repeats[i] != 1) {
        repetitions |= AxisMask{1} << axes.size();
        axes.push_back({repeats[i], 0});
        joins = false;
      }
      if (joins) {
        axes.back() = {axes.back().extent * shape[i], all.stride(i)};
      } else {
        axes.push_back({shape[i], all.stride(i)});
      }
      joins = true;
    }
  }
  bool fit() const { return axes.size() <= static_cast<std::size_t>(Shape::max_rank); }
};

// x and `repeats` have the same number of axes, and their TiledAxes fit.
Tensor tile_at_once(const Arg& x, const Shape& repeats, const TiledAxes& tiled) {
  Region region;
  for (const TiledAxes::Axis& axis : tiled.axes) region.append(axis.extent, axis.stride);
  Shape shape;
  for (int i = 0; i < repeats.rank(); ++i) shape.append(repeated_extent(x->size(i), repeats[i]));
  Tensor y = copy_out(CopyKind::tile, x, region, shape, x.where());
  if (!records(x)) return y;
  record(Recorded(Op::strided_copy).as("tile"), x.where(), y, {x},
         differentiable([split = region.shape, axes = tiled.repetitions](const Tensor& dy, Gradients& gradients) {
           gradients(0, [&] {
             if (axes == 0) return with_shape(dy, gradients.shape(0));
             return recorded_sum("sum", with_shape(dy, split), axes, gradients.shape(0), 1, Location());
           });
         }));
  return y;
}

// The region of x in a tensor of `shape` that is padded by `padding`.
Region inside(const Shape& shape, const Shape& x, const std::vector<Padding>& padding) {
  Region region = whole(shape);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t before = padding[static_cast<std::size_t>(axis)].before;
    region = sliced(region, axis, before, before + x[axis], 1);
  }
  return region;
}

Shape padded_shape(const Shape& shape, const std::vector<Padding>& padding) {
  if (std::cmp_not_equal(padding.size(), shape.rank())) {
    throw_error("pad", fmt::format("{} needs a padding for each of its axes, not {}", shape.str(), padding.size()));
  }
  Shape result;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const Padding& around = padding[static_cast<std::size_t>(axis)];
    std::int64_t extent = 0;
    if (around.before < 0 || around.after < 0 || __builtin_add_overflow(shape[axis], around.before, &extent) ||
        __builtin_add_overflow(extent, around.after, &extent)) {
      throw_error(
          "pad",
          fmt::format("axis {} of {} cannot be padded by {} and {}; a padding must not be negative, and slices cut off",
                      axis, shape.str(), around.before, around.after));
    }
    result.append(extent);
  }
  return result;
}

}  // namespace

Tensor expand(const Arg& x, const Shape& shape) {
  const Shape& from = checked_operand(x, "expand").shape;
  Shape common = shape;
  if (from.rank() > shape.rank() || !broadcast_into(common, from) || common != shape) {
    throw_error("expand", fmt::format("{} cannot be repeated to {}{}", from.str(), shape.str(), broadcast_rule));
  }
  const Region all = whole(from);
  Region region;
  for (int i = 0; i < shape.rank(); ++i) {
    const int axis = i - (shape.rank() - from.rank());
    region.append(shape[i], axis < 0 || from[axis] == 1 ? 0 : all.stride(axis));
  }
  Tensor y = copy_out(CopyKind::expand, x, region, x.where());
  if (records(x)) {
    record(Recorded(Op::strided_copy).as("expand"), x.where(), y, {x},
           differentiable([](const Tensor& dy, Gradients& gradients) {
             gradients(0, [&] { return sum_to(dy, gradients.shape(0)); });
           }));
  }
  return y;
}

Tensor tile(const Arg& x, const Shape& repeats) {
  const TensorImpl& impl = checked_operand(x, "tile");
  const int rank = std::max(impl.shape.rank(), repeats.rank());
  if (impl.shape.rank() < rank) {
    const Tensor longer = x->reshape(with_leading_ones(impl.shape, rank), x.where());
    return tile(Arg(longer, x.where()), repeats);
  }
  const Shape times = with_leading_ones(repeats, rank);
  const TiledAxes tiled(impl.shape, times);
  if (tiled.fit()) return tile_at_once(x, times, tiled);
  // The two last axes that are repeated, then the others.
  Shape inner = times, outer = times;
  int found = 0;
  for (int axis = rank - 1; axis >= 0; --axis) {
    found += times[axis] != 1 ? 1 : 0;
    Shape& other = found <= 2 ? outer : inner;
    other = other.with(axis, 1);
  }
  const Tensor part = tile(x, inner);
  return tile(Arg(part, x.where()), outer);
}

Tensor pad(const Arg& x, const std::vector<Padding>& padding, const Scalar& value) {
  const TensorImpl& impl = checked_operand(x, "pad");
  const Number number = number_in(impl.dtype, value, "pad");
  const Shape shape = padded_shape(impl.shape, padding);
  const Region region = inside(shape, impl.shape, padding);
  Tensor y = make_tensor(shape, impl.dtype, impl.device);
  submit(Op::fill, {writes(y)}, FillAttributes{number}, x.where());
  copy_into(CopyKind::pad, y, region, x, Into::copies, OldValue::unfinished, x.where());
  if (records(x)) {
    record(Recorded(Op::strided_copy).as("pad"), x.where(), y, {x},
           differentiable(
               [region](const Tensor& dy, Gradients& gradients) { gradients(0, [&] { return part(dy, region); }); }));
  }
  return y;
}

}  // namespace asyncgrad
