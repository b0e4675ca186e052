#include "asyncgrad/autograd/forms/parts.h"

#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/core/engine/submit.h"

namespace asyncgrad::detail {

Tensor part(const Tensor& x, const Region& region) {
  Tensor y = copy_out(CopyKind::slice, x, region, Location());
  record_part("slice", x, y, region, Location());
  return y;
}

namespace {

// Writes zeros to elements [begin, end), which are the first of y that are written if `is_first`.
void write_zeros(const Tensor& y, std::int64_t begin, std::int64_t end, bool is_first) {
  if (begin == end) return;
  const Tensor some = make_view(y, {end - begin}, begin);
  submit(Op::fill, {is_first ? writes(some) : finishes(some)}, FillAttributes{}, Location());
}

}  // namespace

Tensor placed(const Tensor& x, const Region& region, const Shape& shape) {
  Tensor y = make_like(x, shape);
  const std::int64_t begin = region.offset, end = begin + region.shape.numel();
  if (end > begin && region.strides == whole(region.shape).strides) {
    // They lie one behind the other, and zeros are written beside them alone.
    write_zeros(y, 0, begin, true);
    const Tensor some = make_view(y, x.shape(), begin);
    submit(Op::copy, {begin == 0 ? writes(some) : finishes(some), reads(x)}, NoAttributes{}, Location());
    write_zeros(y, end, shape.numel(), false);
  } else {
    write_zeros(y, 0, shape.numel(), true);
    copy_into(CopyKind::slice_grad, y, region, x, Into::copies, OldValue::unfinished, Location());
  }
  if (records(x)) {
    record(Recorded(Op::strided_copy).as("slice_grad"), Location(), y, {x},
           differentiable([region](const Tensor& dy, Gradients& gradients) {
             gradients(0, [&] { return with_shape(part(dy, region), gradients.shape(0)); });
           }));
  }
  return y;
}

Tensor marked_view(const Tensor& x, const Shape& shape, std::int64_t offset) {
  Tensor view = make_view(x, shape, offset);
  view.impl()->is_view = true;
  view.impl()->view_version = x.impl()->storage->version;
  return view;
}

Tensor shared_part(const char* operation, const Tensor& x, const Region& region, const Shape& shape, Location where) {
  Tensor y = marked_view(x, shape, region.offset);
  record_part(operation, x, y, region, where);
  return y;
}

void record_part(const char* operation, const Tensor& x, const Tensor& y, const Region& region, Location where) {
  if (!records(x)) return;
  record(Recorded(Op::strided_copy).as(operation), where, y, {x},
         differentiable([region](const Tensor& dy, Gradients& gradients) {
           gradients.add_to(
               0, dy,
               [&](const Tensor& dx) {
                 copy_into(CopyKind::slice_grad, dx, region, dy, Into::adds, OldValue::unfinished, Location());
               },
               [&] { return placed(dy, region, gradients.shape(0)); });
         }));
}

}  // namespace asyncgrad::detail
