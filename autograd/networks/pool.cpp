#include <fmt/format.h>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/forms/parts.h"
#include "asyncgrad/autograd/indexing.h"
#include "asyncgrad/autograd/networks/windows.h"
#include "asyncgrad/autograd/pool.h"
#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/autograd/size2d.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

using namespace detail;

namespace {

struct Pool {
  PoolAttributes attributes;
  Shape result;
};

Pool checked(Op op, const char* name, const Arg& x, const Size2d& kernel, const PoolOptions& options) {
  const NamedOperand in{"x", checked_operand(x, name)};
  check_dtype(op, name, in);
  const Shape& shape = in.impl.shape;
  check_planes(name, shape);
  check_options(name, kernel, options);
  const Size2d stride = stride_of(kernel, options), &padding = options.padding;
  const Size2d counts = window_counts(name, {shape[2], shape[3]}, {kernel, stride, padding, 1});
  return {{.kernel = array_of(kernel), .stride = array_of(stride), .padding = array_of(padding)},
          {shape[0], shape[1], counts.height, counts.width}};
}

// (N, C, H, W) as planes.
Shape planes(const Shape& shape) { return {shape[0] * shape[1], shape[2] * shape[3]}; }

Tensor avg_pool(const Tensor& x, const PoolAttributes& attributes, const Shape& shape, Location where);

// The adjoint of avg_pool: dx of this shape. Recorded.
Tensor avg_pool_grad(const Tensor& dy, const PoolAttributes& attributes, const Shape& shape) {
  Tensor dx = make_like(dy, shape);
  submit(Op::avg_pool_grad, {writes(dx), reads(dy)}, attributes, Location());
  if (!records(dy)) return dx;
  record(Op::avg_pool_grad, Location(), dx, {dy}, differentiable([attributes](const Tensor& ddx, Gradients& gradients) {
           gradients(0, [&] { return avg_pool(ddx, attributes, gradients.shape(0), Location()); });
         }));
  return dx;
}

Tensor avg_pool(const Tensor& x, const PoolAttributes& attributes, const Shape& shape, Location where) {
  Tensor y = make_like(x, shape);
  submit(Op::avg_pool, {writes(y), reads(x)}, attributes, where);
  if (!records(x)) return y;
  record(Op::avg_pool, where, y, {x}, differentiable([attributes](const Tensor& dy, Gradients& gradients) {
           gradients(0, [&] { return avg_pool_grad(dy, attributes, gradients.shape(0)); });
         }));
  return y;
}

Tensor max_pool_grad(const Tensor& dy, const Tensor& indices, const PoolAttributes& attributes, const Shape& shape,
                     bool is_recorded) {
  if (is_recorded) {
    const Tensor none = zeros(planes(shape), {.dtype = dy.dtype(), .device = dy.device()});
    return with_shape(scatter_add(none, make_view(indices, planes(dy.shape())), with_shape(dy, planes(dy.shape())), 1),
                      shape);
  }
  Tensor dx = make_like(dy, shape);
  submit(Op::max_pool_grad, {writes(dx), reads(indices), reads(dy)}, attributes, Location());
  return dx;
}

Tensor avg_pool2d_named(const char* name, const Arg& x, Size2d kernel_size, const PoolOptions& options) {
  const Pool pool = checked(Op::avg_pool, name, x, kernel_size, options);
  return avg_pool(x, pool.attributes, pool.result, x.where());
}

Tensor max_pool2d_named(const char* name, const Arg& x, Size2d kernel_size, const PoolOptions& options) {
  const Pool pool = checked(Op::max_pool, name, x, kernel_size, options);
  const PoolAttributes& attributes = pool.attributes;
  const Shape& shape = pool.result;
  const bool is_recorded = records(x);
  Tensor y = make_like(x, shape);
  const Tensor indices = make_tensor(is_recorded ? shape : Shape{0}, DType::int64, x->device());
  submit(Op::max_pool, {writes(y), writes(indices), reads(x)}, attributes, x.where());
  if (!is_recorded) return y;
  record(Op::max_pool, x.where(), y, {x},
         differentiable([attributes, indices = save(indices)](const Tensor& dy, Gradients& gradients) {
           gradients(0, [&] {
             return max_pool_grad(dy, gradients.read(indices), attributes, gradients.shape(0),
                                  gradients.are_recorded());
           });
         }));
  return y;
}

using Pool2d = Tensor (*)(const char*, const Arg&, Size2d, const PoolOptions&);

// (N, C, L) as (N, C, 1, L).
Tensor pooled_along(Op op, const char* name, Pool2d pool, const Arg& x, std::int64_t kernel,
                    const Pool1dOptions& options) {
  const TensorImpl& impl = checked_operand(x, name);
  check_dtype(op, name, {"x", impl});
  if (impl.shape.rank() != 3) throw_error(name, fmt::format("needs x (N, C, L), got {}", impl.shape.str()));
  const Tensor planes = unsqueeze(x, 2);
  const Tensor y = pool(name, Arg(planes, x.where()), {1, kernel}, along_width(options));
  return squeeze(Arg(y, x.where()), {2});
}

}  // namespace

Tensor max_pool2d(const Arg& x, Size2d kernel_size, const PoolOptions& options) {
  return max_pool2d_named(row_of(Op::max_pool).name, x, kernel_size, options);
}
Tensor avg_pool2d(const Arg& x, Size2d kernel_size, const PoolOptions& options) {
  return avg_pool2d_named(row_of(Op::avg_pool).name, x, kernel_size, options);
}

Tensor max_pool1d(const Arg& x, std::int64_t kernel_size, const Pool1dOptions& options) {
  return pooled_along(Op::max_pool, "max_pool1d", max_pool2d_named, x, kernel_size, options);
}
Tensor avg_pool1d(const Arg& x, std::int64_t kernel_size, const Pool1dOptions& options) {
  return pooled_along(Op::avg_pool, "avg_pool1d", avg_pool2d_named, x, kernel_size, options);
}

}  // namespace asyncgrad
