#include "asyncgrad/autograd/forms/strided.h"

#include <fmt/format.h>

#include <algorithm>

#include "asyncgrad/autograd/forms/reductions.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::detail {

namespace {

std::size_t place(int axis) { return static_cast<std::size_t>(axis); }

// Counted from the front.
std::int64_t from_front(std::int64_t position, std::int64_t extent) {
  return position < 0 ? position + extent : position;
}

}  // namespace

void Region::append(std::int64_t extent, std::int64_t stride) {
  shape.append(extent);
  strides[place(shape.rank() - 1)] = stride;
}

Region whole(const Shape& shape) {
  Region region{.shape = shape};
  std::int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    region.strides[place(axis)] = stride;
    stride *= shape[axis];
  }
  return region;
}

Region sliced(Region region, int axis, std::int64_t begin, std::int64_t end, std::int64_t step) {
  const std::int64_t extent = begin < end ? (end - begin - 1) / step + 1 : 0;
  if (extent > 0) region.offset += begin * region.stride(axis);
  region.shape = region.shape.with(axis, extent);
  if (extent > 1) region.strides[place(axis)] *= step;
  return region;
}

Region permuted(const Region& region, std::span<const int> axes) {
  Region result;
  result.offset = region.offset;
  for (const int axis : axes) result.append(region.shape[axis], region.stride(axis));
  return result;
}

Region flipped(Region region, int axis) {
  if (region.shape[axis] > 0) region.offset += (region.shape[axis] - 1) * region.stride(axis);
  region.strides[place(axis)] *= -1;
  return region;
}

Tensor copy_out(CopyKind kind, const Tensor& x, const Region& region, const Shape& shape, Location where) {
  Tensor y = make_like(x, shape);
  const StridedCopyAttributes attributes{.strides = region.strides, .offset = region.offset, .kind = kind};
  if (shape == region.shape) {
    submit(Op::strided_copy, {writes(y), reads(x)}, attributes, where);
  } else {
    submit(Op::strided_copy, {writes(make_view(y, region.shape)), reads(x)}, attributes, where);
  }
  return y;
}

void copy_into(CopyKind kind, const Tensor& target, const Region& region, const Tensor& source, Into into,
               OldValue old_value, Location where) {
  if (region.shape.numel() == 0) return;
  const StridedCopyAttributes attributes{
      .strides = region.strides, .offset = region.offset, .kind = kind, .into = true, .adds = into == Into::adds};
  const OperandRef to = old_value == OldValue::kept ? updates(target) : finishes(target);
  if (source.shape() == region.shape) {
    submit(Op::strided_copy, {to, reads(source)}, attributes, where);
  } else {
    submit(Op::strided_copy, {to, reads(make_view(source, region.shape))}, attributes, where);
  }
}

Region region_of(const char* operation, const Shape& shape, std::span<const Slice> slices) {
  Region region = whole(shape);
  AxisMask seen = 0;
  for (const Slice& slice : slices) {
    const int axis = add_axis(operation, shape, slice.axis, seen);
    const std::int64_t extent = shape[axis];
    const std::int64_t begin = from_front(slice.begin, extent), end = from_front(slice.end, extent);
    if (begin < 0 || begin > end || end > extent) {
      throw_error(operation, fmt::format("there are no elements {} to {} along axis {} of {}", slice.begin, slice.end,
                                         slice.axis, shape.str()));
    }
    if (slice.step < 1) {
      throw_error(operation,
                  fmt::format("the step {} along axis {} of {} is not positive", slice.step, slice.axis, shape.str()));
    }
    region = sliced(region, axis, begin, end, slice.step);
  }
  return region;
}

}  // namespace asyncgrad::detail
