#include "asyncgrad/autograd/indexing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/elementwise/apply.h"
#include "asyncgrad/autograd/forms/broadcast.h"
#include "asyncgrad/autograd/forms/parts.h"
#include "asyncgrad/autograd/forms/reductions.h"
#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/autograd/shapes/look_up.h"
#include "asyncgrad/autograd/tape/in_place.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/core/call_site.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad {

using namespace detail;

namespace {

// `shape` seen as three axes, of which `axis` is the middle one.
IndexAttributes seen_along(const Shape& shape, int axis) {
  const ReduceAttributes seen = around(shape, axis);
  return {seen.outer, seen.axis, seen.inner};
}

// x's shape with those of the indices in place of the axis.
Shape taken_shape(const Shape& x, const Shape& indices, int axis) {
  if (x.rank() - 1 + indices.rank() > Shape::max_rank) {
    throw_error("take", fmt::format("the result would have more than {} axes: x {}, indices {}; reshape the indices to "
                                    "one axis first",
                                    Shape::max_rank, x.str(), indices.str()));
  }
  Shape shape;
  for (int i = 0; i < axis; ++i) shape.append(x[i]);
  for (const std::int64_t extent : indices) shape.append(extent);
  for (int i = axis + 1; i < x.rank(); ++i) shape.append(x[i]);
  return shape;
}

// Narrow indices become wide after all checks, so that what is refused queues nothing.
void check_is_index(const char* operation, NamedOperand operand) {
  if (operand.impl.dtype == DType::int64 || is_narrow_index(operand.impl.dtype)) return;
  throw_error(operation, fmt::format("{} must be int64: {} {} {}; {}{} converts them", operand.name, operand.name,
                                     name(operand.impl.dtype), operand.impl.shape.str(), operand.name, to_str(int64)));
}

// Throws Error unless the shapes agree but for `axis`.
void check_along(const char* operation, NamedOperand x, NamedOperand indices, int axis) {
  const Shape &xs = x.impl.shape, &is = indices.impl.shape;
  if (xs.rank() == is.rank() && is.with(axis, xs[axis]) == xs) return;
  const NamedOperand operands[] = {x, indices};
  throw_error(operation, fmt::format("shapes differ beside axis {}: {}; only the extents along it may differ", axis,
                                     shapes_str(operands)));
}

// An operation that reads elements of a tensor at indices, and the one that adds to them.
struct IndexedPair {
  Recorded reads, adds;
};
constexpr IndexedPair take_pair{Op::take, Op::take_grad}, gather_pair{Op::gather, Op::scatter_add};

// out[…, indices, …] += source.
void add_at(const IndexedPair& pair, const Tensor& out, const Tensor& indices, const Tensor& source,
            const IndexAttributes& seen, Location where) {
  submit(pair.adds.op, {finishes(out), reads(indices), reads(source)}, seen, where);
}

Tensor read_at(const IndexedPair& pair, const Tensor& x, const Tensor& indices, const IndexAttributes& seen,
               const Shape& shape, Location where, bool keeps_rows = false);

// Zeros of `shape` with the source added at the indices. Recorded.
Tensor added_at(const IndexedPair& pair, const Shape& shape, const Tensor& indices, const Tensor& source,
                const IndexAttributes& seen) {
  Tensor y = zeros(shape, {.dtype = source.dtype(), .device = source.device()}, Location());
  add_at(pair, y, indices, source, seen, Location());
  if (records(source)) {
    record(pair.adds, Location(), y, {source},
           differentiable([&pair, seen, indices = SavedTensor(indices)](const Tensor& dy, Gradients& gradients) {
             gradients(
                 0, [&] { return read_at(pair, dy, gradients.read(indices), seen, gradients.shape(0), Location()); });
           }));
  }
  return y;
}

// x at the indices, in the given shape. Recorded. A leaf's gradient is kept by rows if `keeps_rows`.
Tensor read_at(const IndexedPair& pair, const Tensor& x, const Tensor& indices, const IndexAttributes& seen,
               const Shape& shape, Location where, bool keeps_rows) {
  Tensor y = make_like(x, shape);
  submit(pair.reads.op, {writes(y), reads(x), reads(indices)}, seen, where);
  if (records(x)) {
    record(pair.reads, where, y, {x},
           differentiable([&pair, seen, keeps_rows, indices = SavedTensor(indices)](const Tensor& dy,
                                                                                    Gradients& gradients) {
             const Tensor& places = gradients.read(indices);
             if (dy.dtype() == bfloat16) {  // whose sums would stop at 256 ones
               gradients(0,
                         [&] { return added_at(pair, gradients.shape(0), places, dy.to(float32), seen).to(bfloat16); });
               return;
             }
             if (keeps_rows && gradients.keep_rows(0, places, dy)) return;
             gradients.add_to(
                 0, dy, [&](const Tensor& dx) { add_at(pair, dx, places, dy, seen, Location()); },
                 [&] { return added_at(pair, gradients.shape(0), places, dy, seen); });
           }));
  }
  return y;
}

// x with the source added at the indices. check(x, indices, source, axis) throws Error unless their shapes fit.
template <class Check>
Tensor with_added(const char* operation, const IndexedPair& pair, const Arg& x, const Arg& indices, const Arg& source,
                  int axis, Check check) {
  const NamedOperand to{"x", checked_operand(x, operation)}, places{"indices", checked_operand(indices, operation)},
      from{"source", checked_operand(source, operation)};
  check_devices(operation, {to, places, from});
  check_alike(operation, {to, from});
  check_dtype(pair.adds.op, operation, to);
  check_is_index(operation, places);
  const int along = checked_axis(operation, to.impl.shape, axis);
  check(to, places, from, along);
  check_choice(operation, to, along, places);
  if (is_narrow_index(places.impl.dtype)) {
    return with_added(operation, pair, x, Arg(wide_indices(indices), indices.where()), source, axis, check);
  }
  const IndexAttributes seen = seen_along(to.impl.shape, along);
  Tensor y = x->detach().clone(x.where());
  add_at(pair, y, indices, source, seen, x.where());
  if (records(x, source)) {
    record(pair.adds.as(operation), x.where(), y, {x, source},
           differentiable([&pair, seen, indices = SavedTensor(indices)](const Tensor& dy, Gradients& gradients) {
             gradients(0, [&] { return dy; });
             gradients(
                 1, [&] { return read_at(pair, dy, gradients.read(indices), seen, gradients.shape(1), Location()); });
           }));
  }
  return y;
}

Tensor taken(const Arg& x, const Arg& indices, int axis, bool keeps_rows) {
  const TensorImpl &values = checked_operand(x, "take"), &places = checked_operand(indices, "take");
  check_devices("take", {{"x", values}, {"indices", places}});
  check_is_index("take", {"indices", places});
  if (values.shape.rank() == 0)
    throw_error("take", fmt::format("needs x with an axis, got the scalar {}", values.shape.str()));
  const int along = checked_axis("take", values.shape, axis);
  check_choice("take", {"x", values}, along, {"indices", places});
  const Shape shape = taken_shape(values.shape, places.shape, along);
  if (is_narrow_index(places.dtype)) return taken(x, Arg(wide_indices(indices), indices.where()), axis, keeps_rows);
  return read_at(take_pair, x, indices, seen_along(values.shape, along), shape, x.where(), keeps_rows);
}

Tensor zeros_of(const Tensor& values, const Shape& shape) {
  return zeros(shape, {.dtype = values.dtype(), .device = values.device()}, Location());
}

// The gradient in what put() has overwritten: dy, but zero at the indices.
Tensor not_at(const Tensor& dy, const Tensor& indices) {
  const Tensor dx = dy.clone(Location());
  put(dx, Arg(indices, Location()), Arg(zeros_of(dy, indices.shape()), Location()));
  return dx;
}

// The gradient in the values that put() has written at the indices (n): dy there for those that stayed, and zero for
// those in whose place a later one was written. Seen from the end, those that stayed come first.
Tensor of_last_at(const Tensor& dy, const Tensor& indices) {
  const Tensor from_end = flip(Arg(indices, Location()), 0);
  const Tensor stayed = make_like(from_end, from_end.shape());
  submit(Op::first_places, {writes(stayed), reads(from_end)}, IndexAttributes{.axis = dy.numel()}, Location());
  const Tensor taken = read_at(take_pair, dy, from_end, {.axis = dy.numel()}, from_end.shape(), Location());
  const Tensor dvalues = zeros_of(dy, from_end.shape());
  put(dvalues, Arg(stayed, Location()), Arg(taken, Location()));  // equal indices have equal values here
  return flip(Arg(dvalues, Location()), 0);
}

}  // namespace

Tensor take(const Arg& x, const Arg& indices, int axis) { return taken(x, indices, axis, /*keeps_rows=*/false); }

Tensor detail::look_up(const Arg& table, const Arg& indices) { return taken(table, indices, 0, /*keeps_rows=*/true); }

Tensor gather(const Arg& x, const Arg& indices, int axis) {
  const NamedOperand values{"x", checked_operand(x, "gather")}, places{"indices", checked_operand(indices, "gather")};
  check_devices("gather", {values, places});
  check_is_index("gather", places);
  const int along = checked_axis("gather", values.impl.shape, axis);
  check_along("gather", values, places, along);
  check_choice("gather", values, along, places);
  if (is_narrow_index(places.impl.dtype)) return gather(x, Arg(wide_indices(indices), indices.where()), axis);
  const IndexAttributes seen = seen_along(values.impl.shape, along);
  return read_at(gather_pair, x, indices, seen, places.impl.shape, x.where());
}

Tensor scatter_add(const Arg& x, const Arg& indices, const Arg& source, int axis) {
  const auto check = [](NamedOperand to, NamedOperand places, NamedOperand from, int along) {
    check_along("scatter_add", to, places, along);
    if (from.impl.shape == places.impl.shape) return;
    const NamedOperand operands[] = {places, from};
    throw_error("scatter_add",
                fmt::format("each source needs an index: {}; both are to have one shape", shapes_str(operands)));
  };
  return with_added("scatter_add", gather_pair, x, indices, source, axis, check);
}

Tensor index_add(const Arg& x, const Arg& indices, const Arg& source, int axis) {
  const auto check = [](NamedOperand to, NamedOperand places, NamedOperand from, int along) {
    const Shape &xs = to.impl.shape, &is = places.impl.shape, &given = from.impl.shape;
    if (is.rank() == 1 && given.rank() == xs.rank() && given == xs.with(along, is[0])) return;
    const NamedOperand operands[] = {to, places, from};
    throw_error("index_add",
                fmt::format("source must have x's shape but for axis {}, along which it has an element for "
                            "each of the indices (K): {}",
                            along, shapes_str(operands)));
  };
  return with_added("index_add", take_pair, x, indices, source, axis, check);
}

void put(const Tensor& x, const Arg& indices, const Arg& values) {
  const NamedOperand to{"x", checked_operand(x, "put")}, places{"indices", checked_operand(indices, "put")},
      from{"values", checked_operand(values, "put")};
  check_devices("put", {to, places, from});
  check_alike("put", {to, from});
  check_is_index("put", places);
  const std::int64_t count = places.impl.shape.numel();
  const NamedOperand operands[] = {to, places, from};
  if (from.impl.shape != places.impl.shape)
    throw_error("put", fmt::format("each value needs an index: {}; both are to have one shape", shapes_str(operands)));
  if (to.impl.shape.numel() == 0 && count > 0)
    throw_error("put", fmt::format("x has no element that indices could choose: {}", shapes_str(operands)));
  check_writable("put", x, values);
  const Location& where = values.where();
  if (is_narrow_index(places.impl.dtype)) return put(x, Arg(wide_indices(indices), where), values);
  // Writing must not change what is read.
  const auto in_a_row = [&](const Tensor& operand) {
    const Tensor unshared = to.impl.storage == operand.impl()->storage ? operand.clone(where) : operand;
    return with_shape(unshared, {count});
  };
  const Tensor at = in_a_row(indices), source = in_a_row(values->detach());
  const bool is_recorded = records(x, values);
  submit(Op::put, {updates(x), reads(at), reads(source)}, NoAttributes{}, where);
  if (!is_recorded) return;
  note_history(x);
  record(Op::put, where, x, {x, values}, differentiable([at = SavedTensor(at)](const Tensor& dy, Gradients& gradients) {
           gradients(0, [&] { return not_at(dy, gradients.read(at)); });
           gradients(1, [&] { return with_shape(of_last_at(dy, gradients.read(at)), gradients.shape(1)); });
         }));
}

Tensor ravel_multi_index(TensorList list, const Shape& shape, Location where) {
  constexpr const char* operation = "ravel_multi_index";
  const CallSite site(where);
  const std::span indices = list.all();
  if (indices.empty() || static_cast<int>(indices.size()) != shape.rank()) {
    throw_error(operation, fmt::format("needs an index for each axis, of which there is at least one: shape {}, {} "
                                       "tensors of indices",
                                       shape.str(), indices.size()));
  }
  const NamedOperand first{"indices[0]", checked_operand(indices[0], operation)};
  Shape common;
  for (const Tensor& index : indices) {
    const NamedOperand another{"another", checked_operand(index, operation)};
    check_devices(operation, {first, another});
    check_is_index(operation, another);
    if (broadcast_into(common, index.shape())) continue;
    const NamedOperand operands[] = {first, another};
    throw_error(operation, fmt::format("shapes cannot be broadcast: {}{}", shapes_str(operands), broadcast_rule));
  }
  const Tensor places = make_tensor(common, int64, first.impl.device);
  std::vector<Tensor> along;
  std::vector<OperandRef> operands{writes(places)};
  along.reserve(indices.size());
  for (const Tensor& index : indices) {
    const Tensor wide = wide_indices(Arg(index, where));
    along.push_back(wide.shape() == common ? wide : expand(Arg(wide, where), common));
    operands.push_back(reads(along.back()));
  }
  MultiIndexAttributes attributes;
  std::ranges::copy(shape, attributes.extents.begin());
  submit(Op::ravel_multi_index, operands, attributes, where);
  return places;
}

Tensor one_hot(const Arg& indices, std::int64_t classes, DType dtype) {
  const TensorImpl& places = checked_operand(indices, "one_hot");
  check_is_index("one_hot", {"indices", places});
  if (classes < 1) {
    throw_error("one_hot", fmt::format("classes must be at least 1, got {}; indices {}", classes, places.shape.str()));
  }
  Shape shape = places.shape;
  shape.append(classes);
  if (is_narrow_index(places.dtype)) return one_hot(Arg(wide_indices(indices), indices.where()), classes, dtype);
  Tensor y = make_tensor(shape, dtype, places.device);
  submit(Op::one_hot, {writes(y), reads(indices)}, NoAttributes{}, indices.where());
  return y;
}

Tensor masked_fill(const Arg& x, const Arg& mask, const Scalar& value) {
  const NamedOperand values{"x", checked_operand(x, "masked_fill")},
      where{"mask", checked_operand(mask, "masked_fill")};
  check_devices("masked_fill", {values, where});
  if (where.impl.dtype != DType::boolean) check_alike("masked_fill", {values, where});
  Shape shape = values.impl.shape;
  if (!broadcast_into(shape, where.impl.shape) || shape != values.impl.shape) {
    const NamedOperand operands[] = {values, where};
    throw_error("masked_fill",
                fmt::format("the mask cannot be repeated to x's shape: {}{}", shapes_str(operands), broadcast_rule));
  }
  const std::array<Input, 3> inputs = {mask, number_in(values.impl.dtype, value, "masked_fill"), x};
  return apply(formulas::id<formulas::Where>(), inputs, x.where());
}

}  // namespace asyncgrad
