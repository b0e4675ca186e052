// concat, stack and split.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "asyncgrad/autograd/forms/parts.h"
#include "asyncgrad/autograd/forms/reductions.h"
#include "asyncgrad/autograd/forms/strided.h"
#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

using namespace detail;

namespace {

// The gradient of an input whose elements lie at `first` in each of the `outer` rows of dy.
Tensor part_of(const Tensor& dy, std::int64_t outer, std::int64_t first, const Shape& shape) {
  const Region rows = whole({outer, dy.numel() / outer});
  const Region region = sliced(rows, 1, first, first + shape.numel() / outer, 1);
  Tensor dx = outer == 1 ? make_view(dy, shape, first) : copy_out(CopyKind::slice, dy, region, shape, Location());
  record_part("slice", dy, dx, region, Location());
  return dx;
}

// The elements of the first tensor's first row, of the second's first row, …, of the first one's second row, …, where
// a row is what has one index on the axes before `axis`.
Tensor joined(const char* operation, std::span<const Tensor> tensors, const Shape& shape, int axis, Location where) {
  const std::int64_t outer = around(shape, axis).outer;
  const TensorImpl& first = *tensors.front().impl();
  Tensor y = make_tensor(shape, first.dtype, first.device);
  std::vector<OperandRef> operands{writes(y)};
  bool is_recorded = false;
  for (const Tensor& tensor : tensors) {
    operands.push_back(reads(tensor));
    is_recorded = is_recorded || records(tensor);
  }
  submit(Op::concat, operands, ConcatAttributes{outer}, where);
  if (!is_recorded) return y;
  std::vector<std::int64_t> begins;
  std::int64_t begin = 0;
  for (const Tensor& tensor : tensors) {
    begins.push_back(begin);
    begin += outer == 0 ? 0 : tensor.numel() / outer;
  }
  record(Recorded(Op::concat).as(operation), where, y, tensors,
         differentiable([outer, begins = std::move(begins)](const Tensor& dy, Gradients& gradients) {
           for (std::size_t i = 0; i < begins.size(); ++i) {
             const int input = static_cast<int>(i);
             gradients(input, [&] {
               const Shape& shape = gradients.shape(input);
               return shape.numel() == 0 ? make_view(dy, shape) : part_of(dy, outer, begins[i], shape);
             });
           }
         }));
  return y;
}

// The first one, with which the others agree in type and device.
const TensorImpl& checked_first(const char* operation, std::span<const Tensor> tensors) {
  if (tensors.empty()) throw_error(operation, "needs at least one tensor, got none");
  const TensorImpl& first = checked_operand(tensors.front(), operation);
  for (const Tensor& tensor : tensors) {
    check_alike(operation, {{"first", first}, {"another", checked_operand(tensor, operation)}});
  }
  return first;
}

}  // namespace

Tensor concat(TensorList list, int axis, Location where) {
  const CallSite site(where);
  const std::span tensors = list.all();
  const Shape& first = checked_first("concat", tensors).shape;
  const int along = checked_axis("concat", first, axis);
  std::int64_t extent = 0;
  for (const Tensor& tensor : tensors) {
    const Shape& shape = tensor.shape();
    if (shape.rank() != first.rank() || shape.with(along, first[along]) != first) {
      throw_error(
          "concat",
          fmt::format("shapes differ beside axis {}: first {}, another {}; only the extents along it may differ", along,
                      first.str(), shape.str()));
    }
    if (__builtin_add_overflow(extent, shape[along], &extent)) {
      throw_error("concat", fmt::format("axis {} would be longer than 2^63 - 1", along));
    }
  }
  return joined("concat", tensors, first.with(along, extent), along, where);
}

Tensor stack(TensorList list, int axis, Location where) {
  const CallSite site(where);
  const std::span tensors = list.all();
  const Shape& first = checked_first("stack", tensors).shape;
  for (const Tensor& tensor : tensors) {
    if (tensor.shape() == first) continue;
    throw_error("stack", fmt::format("shapes differ: first {}, another {}; all are to have one shape", first.str(),
                                     tensor.shape().str()));
  }
  const int place = checked_new_axis("stack", first, axis);
  const Shape shape = with_axis(first, place, static_cast<std::int64_t>(tensors.size()));
  return joined("stack", tensors, shape, place, where);
}

std::vector<Tensor> split(const Arg& x, const std::vector<std::int64_t>& sizes, int axis) {
  const Shape& shape = checked_operand(x, "split").shape;
  const int along = checked_axis("split", shape, axis);
  std::int64_t sum = 0;
  bool fits = true;
  for (const std::int64_t size : sizes) fits = fits && size >= 0 && !__builtin_add_overflow(sum, size, &sum);
  if (!fits || sum != shape[along]) {
    throw_error("split",
                fmt::format("the sizes {} do not add up to axis {} of {}", fmt::join(sizes, ", "), along, shape.str()));
  }
  std::vector<Tensor> parts;
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    parts.push_back(slice(x, along, begin, begin + size, 1));
    begin += size;
  }
  return parts;
}

std::vector<Tensor> split(const Arg& x, std::int64_t count, int axis) {
  const Shape& shape = checked_operand(x, "split").shape;
  const int along = checked_axis("split", shape, axis);
  if (count < 1 || shape[along] % count != 0) {
    throw_error("split", fmt::format("axis {} of {} has no {} equal parts; the count must divide its extent", along,
                                     shape.str(), count));
  }
  return split(x, std::vector<std::int64_t>(static_cast<std::size_t>(count), shape[along] / count), along);
}

}  // namespace asyncgrad
