// The triangles of matrices.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/autograd/triangle.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

using namespace detail;

namespace {

Tensor triangle_of(const char* operation, const Tensor& x, const TriangleAttributes& attributes, Location where) {
  Tensor y = make_like(x, x.shape());
  submit(Op::triangle, {writes(y), reads(x)}, attributes, where);
  if (records(x)) {
    record(Recorded(Op::triangle).as(operation), where, y, {x},
           differentiable([operation, attributes](const Tensor& dy, Gradients& gradients) {
             gradients(0, [&] { return triangle_of(operation, dy, attributes, Location()); });
           }));
  }
  return y;
}

Tensor triangle(const char* operation, const Arg& x, std::int64_t diagonal, bool is_upper) {
  const TensorImpl& impl = checked_operand(x, operation);
  if (impl.shape.rank() < 2) throw_error(operation, fmt::format("needs x (…, N, M), got {}", impl.shape.str()));
  const std::int64_t limited = std::clamp(diagonal, -impl.shape[-2], impl.shape[-1]);
  const TriangleAttributes attributes{.diagonal = limited, .is_upper = is_upper};
  return triangle_of(operation, x, attributes, x.where());
}

}  // namespace

Tensor tril(const Arg& x, std::int64_t diagonal) { return triangle("tril", x, diagonal, false); }
Tensor triu(const Arg& x, std::int64_t diagonal) { return triangle("triu", x, diagonal, true); }

}  // namespace asyncgrad
