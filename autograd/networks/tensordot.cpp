#include <fmt/format.h>

#include <utility>
#include <vector>

#include "asyncgrad/autograd/einsum.h"
#include "asyncgrad/autograd/forms/reductions.h"
#include "asyncgrad/autograd/networks/contraction.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

using namespace detail;

namespace {

struct Pairs {
  std::vector<int> of_x, of_y;
};

Tensor contracted(const Arg& x, const Arg& y, const Pairs& pairs) {
  const NamedOperand operands[] = {{"x", *x->impl()}, {"y", *y->impl()}};
  if (pairs.of_x.size() != pairs.of_y.size()) {
    throw_error("tensordot", fmt::format("{} axes of x and {} of y are no pairs: {}", pairs.of_x.size(),
                                         pairs.of_y.size(), shapes_str(operands)));
  }
  // Axis i of x has the label 1 + i, and so has the axis of y beside it.
  Labels of_x, of_y, result;
  for (int axis = 0; axis < x->rank(); ++axis) of_x.push_back(1 + axis);
  for (int axis = 0; axis < y->rank(); ++axis) of_y.push_back(1 + Shape::max_rank + axis);
  AxisMask seen_x = 0, seen_y = 0;
  for (std::size_t i = 0; i < pairs.of_x.size(); ++i) {
    const int a = add_axis("tensordot", x->shape(), pairs.of_x[i], seen_x),
              b = add_axis("tensordot", y->shape(), pairs.of_y[i], seen_y);
    if (x->size(a) != y->size(b)) {
      throw_error("tensordot", fmt::format("axis {} of x and axis {} of y differ: {}", a, b, shapes_str(operands)));
    }
    of_y[static_cast<std::size_t>(b)] = 1 + a;
  }
  LabelExtents extents;
  for (int axis = 0; axis < x->rank(); ++axis) extents[of_x[static_cast<std::size_t>(axis)]] = x->size(axis);
  for (int axis = 0; axis < y->rank(); ++axis) extents[of_y[static_cast<std::size_t>(axis)]] = y->size(axis);
  result = joined(those(of_x, [&](Label label) { return !has(of_y, label); }),
                  those(of_y, [&](Label label) { return !has(of_x, label); }));
  if (result.size() > Shape::max_rank) {
    throw_error("tensordot", fmt::format("the result would have more than six axes: {}", shapes_str(operands)));
  }
  Contraction contraction(result, std::move(extents), x.where());
  contraction.plan({of_x, of_y});
  return contraction.value({{x, of_x}, {y, of_y}});
}

void check_tensordot(const Arg& x, const Arg& y) {
  check_floating("tensordot", {"x", checked_operand(x, "tensordot")});
  check_alike("tensordot", {{"x", *x->impl()}, {"y", checked_operand(y, "tensordot")}});
}

}  // namespace

Tensor tensordot(const Arg& x, const Arg& y, const Axes& x_axes, const Axes& y_axes) {
  check_tensordot(x, y);
  return contracted(x, y, {{x_axes.begin(), x_axes.end()}, {y_axes.begin(), y_axes.end()}});
}

Tensor tensordot(const Arg& x, const Arg& y, int axes) {
  check_tensordot(x, y);
  if (axes < 0 || axes > x->rank() || axes > y->rank()) {
    const NamedOperand operands[] = {{"x", *x->impl()}, {"y", *y->impl()}};
    throw_error("tensordot", fmt::format("there are no {} axes of both: {}", axes, shapes_str(operands)));
  }
  Pairs pairs;
  for (int i = 0; i < axes; ++i) {
    pairs.of_x.push_back(x->rank() - axes + i);
    pairs.of_y.push_back(i);
  }
  return contracted(x, y, pairs);
}

}  // namespace asyncgrad
