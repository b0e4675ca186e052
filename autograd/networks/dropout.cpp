#include "asyncgrad/autograd/dropout.h"

#include <fmt/format.h>

#include <algorithm>

#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/autograd/tape/reuse.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/shared_generator.h"

namespace asyncgrad {

using namespace detail;

namespace {

DropoutAttributes attributes_of(double p, Generator* generator, std::int64_t elements) {
  const auto [key, first] = take_numbers(generator, static_cast<std::uint64_t>(elements));
  const double last = std::clamp(p * 0x1p32 - 1, 0.0, 0x1p32 - 1);
  return {.seed = key,
          .first_block = first,
          .scale = p < 1 ? 1 / (1 - p) : 0,
          .last_dropped = static_cast<std::uint32_t>(last)};
}

// It is linear in x, so its gradient is the same operation.
Tensor dropped(const Tensor& x, const Destination& y, const DropoutAttributes& attributes, Location where) {
  submit(Op::dropout, {y.operand(), reads(x)}, attributes, where);
  if (records(x)) {
    record(Op::dropout, where, y.tensor, {x}, differentiable([attributes](const Tensor& dy, Gradients& gradients) {
             gradients(0, [&] {
               return dropped(dy, gradients.are_recorded() ? new_like(dy) : over(dy), attributes, Location());
             });
           }));
  }
  return y.tensor;
}

}  // namespace

Tensor dropout(const Arg& x, double p, Generator* generator) {
  const TensorImpl& impl = checked_operand(x, "dropout");
  check_dtype(Op::dropout, "dropout", {"x", impl});
  if (!(p >= 0 && p <= 1))
    throw_error("dropout", fmt::format("p must be in [0, 1], got {}; x {}", p, impl.shape.str()));
  if (p == 0) return x;
  return dropped(x, new_like(x), attributes_of(p, generator, impl.shape.numel()), x.where());
}

}  // namespace asyncgrad
