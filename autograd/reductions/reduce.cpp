#include "asyncgrad/autograd/reduce.h"

#include <fmt/format.h>

#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/forms/broadcast.h"
#include "asyncgrad/autograd/forms/reductions.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

using namespace detail;

Axes::Axes(std::initializer_list<int> axes) : Axes(std::span(axes.begin(), axes.size())) {}
Axes::Axes(std::span<const int> axes) {
  if (axes.size() > axes_.size()) throw_error("axes", fmt::format("{} axes; a tensor has at most six", axes.size()));
  for (const int axis : axes) axes_[static_cast<std::size_t>(count_++)] = axis;
}

namespace {

Tensor scaled_sum(const char* operation, const Arg& x, AxisMask axes, bool keep_dims, double scale) {
  const Shape shape = reduced(x->shape(), axes, keep_dims);
  if (x->dtype() == boolean) return sum_of_booleans(x, axes, shape, int64, 1, x.where());
  check_dtype(Op::sum, operation, {"x", *x->impl()});
  return recorded_sum(operation, x, axes, shape, scale, x.where());
}

Tensor scaled_mean(const Arg& x, AxisMask axes, bool keep_dims) {
  const double share = 1.0 / static_cast<double>(count_over(x->shape(), axes));
  if (x->dtype() == boolean) {
    return sum_of_booleans(x, axes, reduced(x->shape(), axes, keep_dims), default_dtype(), share, x.where());
  }
  check_floating("mean", {"x", *x->impl()});
  return scaled_sum("mean", x, axes, keep_dims, share);
}

Tensor decision(Op op, const Arg& x, AxisMask axes, bool keep_dims) {
  const Tensor is_true = x->dtype() == boolean ? x.tensor() : not_equal(x, 0);
  return reduce_over(op, is_true, axes, reduced(x->shape(), axes, keep_dims), 1, x.where());
}

}  // namespace

Tensor any(const Arg& x) { return decision(Op::any, x, all_axes(checked_operand(x, "any").shape), false); }
Tensor all(const Arg& x) { return decision(Op::all, x, all_axes(checked_operand(x, "all").shape), false); }
Tensor any(const Arg& x, const Axes& axes, bool keep_dims) {
  return decision(Op::any, x, mask_of("any", checked_operand(x, "any").shape, axes), keep_dims);
}
Tensor all(const Arg& x, const Axes& axes, bool keep_dims) {
  return decision(Op::all, x, mask_of("all", checked_operand(x, "all").shape, axes), keep_dims);
}

Tensor sum(const Arg& x) { return scaled_sum("sum", x, all_axes(checked_operand(x, "sum").shape), false, 1); }
Tensor mean(const Arg& x) { return scaled_mean(x, all_axes(checked_operand(x, "mean").shape), false); }
Tensor sum(const Arg& x, const Axes& axes, bool keep_dims) {
  return scaled_sum("sum", x, mask_of("sum", checked_operand(x, "sum").shape, axes), keep_dims, 1);
}
Tensor mean(const Arg& x, const Axes& axes, bool keep_dims) {
  return scaled_mean(x, mask_of("mean", checked_operand(x, "mean").shape, axes), keep_dims);
}

Tensor reduce_add(TensorList list, Device device, Location where) {
  const CallSite site(where);
  const std::span inputs = list.all();
  if (inputs.empty()) throw_error("reduce_add", "needs at least one tensor, got none");
  const NamedOperand first{"first", checked_operand(inputs.front(), "reduce_add")};
  for (const Tensor& input : inputs) {
    const NamedOperand operands[] = {first, {"another", checked_operand(input, "reduce_add")}};
    check_types("reduce_add", operands);
    if (input.shape() != first.impl.shape) {
      throw_error("reduce_add", fmt::format("shapes differ: {}", shapes_str(operands)));
    }
  }
  Tensor total = inputs.front().to(device, where);
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const Tensor next = inputs[i].to(device, where);
    total = Arg(total, where) + next;
  }
  return total.impl() == inputs.front().impl() ? total.clone(where) : total;  // the result is never an input itself
}

}  // namespace asyncgrad
