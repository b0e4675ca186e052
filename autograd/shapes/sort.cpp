// The order of elements along an axis, and the elements in it.
#include <fmt/format.h>

#include "asyncgrad/autograd/forms/reductions.h"
#include "asyncgrad/autograd/indexing.h"
#include "asyncgrad/autograd/sort.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

using namespace detail;

namespace {

// The first `count` places along an axis, or all of them for a count of -1.
Tensor first_in_order(const char* operation, const Arg& x, int axis, std::int64_t count, bool is_descending) {
  const TensorImpl& impl = checked_operand(x, operation);
  check_dtype(Op::argsort, operation, {"x", impl});
  const int along = checked_axis(operation, impl.shape, axis);
  const std::int64_t extent = impl.shape[along];
  if (count == -1) count = extent;
  if (count < 0 || count > extent) {
    throw_error(operation, fmt::format("count must be in [0, {}], the extent of axis {} of x {}, got {}", extent, along,
                                       impl.shape.str(), count));
  }
  const ReduceAttributes seen = around(impl.shape, along);
  Tensor places = make_tensor(impl.shape.with(along, count), DType::int64, x->device());
  submit(Op::argsort, {writes(places), reads(x)},
         SortAttributes{seen.outer, seen.axis, seen.inner, count, is_descending}, x.where());
  return places;
}

SortResult with_values(const Arg& x, Tensor indices, int axis) {
  Tensor values = gather(x, Arg(indices, x.where()), axis);
  return {std::move(values), std::move(indices)};
}

}  // namespace

Tensor argsort(const Arg& x, const SortOptions& options) {
  return first_in_order("argsort", x, options.axis, -1, options.descending);
}

SortResult sort(const Arg& x, const SortOptions& options) {
  return with_values(x, first_in_order("sort", x, options.axis, -1, options.descending), options.axis);
}

SortResult topk(const Arg& x, std::int64_t count, const TopkOptions& options) {
  if (count < 0) throw_error("topk", fmt::format("count must not be negative, got {}", count));
  return with_values(x, first_in_order("topk", x, options.axis, count, options.largest), options.axis);
}

}  // namespace asyncgrad
