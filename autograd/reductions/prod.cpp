#include <vector>

#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/forms/reductions.h"
#include "asyncgrad/autograd/gradients.h"
#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/core/engine/submit.h"

namespace asyncgrad {

using namespace detail;

namespace {

// The product as elementary operations, of which gradients of the gradient are taken: halves are multiplied until one
// is left, so that there are few steps, and nothing is divided by an element. x has elements.
Tensor of_halves(const Tensor& x, AxisMask axes, const Shape& shape) {
  const ReduceAttributes seen = around_last_group(x.shape(), axes);
  Tensor rest = x.reshape({seen.outer, seen.axis, seen.inner});
  for (std::int64_t count = seen.axis; count > 1; count = rest.size(1)) {
    const std::int64_t half = (count + 1) / 2;
    Tensor last = slice(rest, 1, half, count);
    if (count % 2 == 1) last = pad(last, {{}, {.before = 0, .after = 1}, {}}, 1);
    rest = slice(rest, 1, 0, half) * last;
  }
  return rest.reshape(shape);
}

// Of axes that are adjacent, or of none.
Tensor product(const Tensor& x, AxisMask axes, const Shape& shape, Location where) {
  Tensor y = reduce_over(Op::prod, x, axes, shape, 1, where);
  if (!records(x)) return y;
  record(Op::prod, where, y, {x}, differentiable([axes, x = SavedTensor(x)](const Tensor& dy, Gradients& gradients) {
           const Tensor& input = gradients.read_input(x, 0);
           gradients(0, [&] {
             if (gradients.are_recorded() && input.numel() > 0) {
               const Tensor seen = input.reshape(input.shape());  // the gradient is that in a node of its own
               return grad(of_halves(seen, axes, dy.shape()), seen, dy, {.create_graph = true})[0];
             }
             Tensor dx = make_like(input, input.shape());
             submit(Op::prod_grad, {writes(dx), reads(input), reads(dy)}, around_last_group(input.shape(), axes),
                    Location());
             return dx;
           });
         }));
  return y;
}

Tensor product_over(const Arg& x, AxisMask axes, bool keep_dims) {
  if (x->dtype() == boolean) return product_over(Arg(x->to(int64, x.where()), x.where()), axes, keep_dims);
  check_dtype(Op::prod, "prod", {"x", *x->impl()});
  const Shape shape = reduced(x->shape(), axes, keep_dims);
  if (axes == 0 || are_adjacent(axes)) return product(x, axes, shape, x.where());
  // The axes become the last ones, so that one product multiplies over all of them and rounds nothing in between.
  std::vector<int> order, multiplied;
  for (int axis = 0; axis < x->rank(); ++axis) ((axes >> axis & 1) != 0 ? multiplied : order).push_back(axis);
  const AxisMask last = all_axes(x->shape()) & (~AxisMask{0} << order.size());
  order.insert(order.end(), multiplied.begin(), multiplied.end());
  return product(permute(x, Axes(order)), last, shape, x.where());
}

}  // namespace

Tensor prod(const Arg& x) { return product_over(x, all_axes(checked_operand(x, "prod").shape), false); }
Tensor prod(const Arg& x, const Axes& axes, bool keep_dims) {
  return product_over(x, mask_of("prod", checked_operand(x, "prod").shape, axes), keep_dims);
}

}  // namespace asyncgrad
