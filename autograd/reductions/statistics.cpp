// variance, norm and logsumexp: each is a few operations, recorded as one that saves only what its gradient needs.
#include <fmt/format.h>

#include <array>
#include <limits>

#include "asyncgrad/autograd/elementwise/apply.h"
#include "asyncgrad/autograd/forms/broadcast.h"
#include "asyncgrad/autograd/forms/parts.h"
#include "asyncgrad/autograd/forms/reductions.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad {

using namespace detail;

namespace {

template <class Formula>
Tensor compute(const std::array<Input, Formula::inputs>& inputs, Location where) {
  return apply(formulas::id<Formula>(), inputs, where);
}

// x, checked and without history, the axes over which it is reduced, and the shapes of the result.
struct Reduction {
  Reduction(const char* operation, const Arg& x, AxisMask axes, bool keep_dims)
      : x(x->detach()),
        axes(axes),
        kept(reduced(x->shape(), axes, true)),
        shape(reduced(x->shape(), axes, keep_dims)),
        where(x.where()) {
    check_floating(operation, {"x", *x->impl()});
  }
  Reduction(const char* operation, const Arg& x)
      : Reduction(operation, x, all_axes(checked_operand(x, operation).shape), false) {}
  Reduction(const char* operation, const Arg& x, const Axes& axes, bool keep_dims)
      : Reduction(operation, x, mask_of(operation, checked_operand(x, operation).shape, axes), keep_dims) {}

  Tensor x;
  AxisMask axes;
  Shape kept;  // with extent 1 where x was reduced
  Shape shape;
  Location where;
};

Tensor variance_of(const Arg& x, const Reduction& r, double correction) {
  const auto count = static_cast<double>(count_over(x->shape(), r.axes));
  if (!(count > correction)) {
    throw_error("variance", fmt::format("a {} of {} leaves nothing of {} elements: x {}",
                                        in_program("correction", "ddof"), correction, count, x->shape().str()));
  }
  const Tensor mean = sum_over(r.x, r.axes, r.kept, 1 / count, r.where);
  const Tensor halves = compute<formulas::HalfSquaredError>({r.x, mean}, r.where);
  const double scale = 2 / (count - correction);
  Tensor y = sum_over(halves, r.axes, r.shape, scale, r.where);
  if (!records(x)) return y;
  // The gradient through the mean is 0, because the differences add up to 0.
  record("variance", r.where, y, {x},
         differentiable([scale, count, axes = r.axes, kept = r.kept, x = SavedTensor(x), mean = SavedTensor(mean)](
                            const Tensor& dy, Gradients& gradients) {
           gradients(0, [&] {
             const Location nowhere;
             const Tensor& values = gradients.read_input(x, 0);
             const Tensor dz = with_shape(dy, kept);
             const Tensor scaled = compute<formulas::Multiply>({dz, Number{.floating = scale}}, nowhere);
             if (!gradients.are_recorded()) {
               return compute<formulas::HalfSquaredErrorGradX>({values, gradients.read(mean), scaled}, nowhere);
             }
             const Tensor centre = recorded_sum("mean", values, axes, kept, 1 / count, nowhere);
             const Tensor difference = compute<formulas::Subtract>({values, centre}, nowhere);
             return compute<formulas::Multiply>({difference, scaled}, nowhere);
           });
         }));
  return y;
}

Tensor norm_of(const Arg& x, const Reduction& r) {
  const bool is_size = count_over(r.x.shape(), r.axes) == 1;  // that of a single element
  Tensor y = is_size ? compute<formulas::Abs>({make_view(r.x, r.shape)}, r.where)
                     : compute<formulas::Sqrt>({sum_of_squares(r.x, r.axes, r.shape, r.where)}, r.where);
  if (!records(x)) return y;
  record(
      "norm", r.where, y, {x},
      differentiable([is_size, kept = r.kept, x = SavedTensor(x), y = save(y, !is_size)](const Tensor& dy,
                                                                                         Gradients& gradients) {
        gradients(0, [&] {
          const Location nowhere;
          const Tensor dz = with_shape(dy, kept);
          if (is_size) {  // NaN for NaN, as with several elements
            return compute<formulas::Multiply>({compute<formulas::Sign>({gradients.read_input(x, 0)}, nowhere), dz},
                                               nowhere);
          }
          const Tensor norm = with_shape(gradients.read_result(y), kept);
          const Number infinity{.floating = std::numeric_limits<double>::infinity()};
          const Tensor divisor = compute<formulas::Where>({norm, norm, infinity}, nowhere);  // makes 0 of dy, not NaN
          const Tensor factor = compute<formulas::Divide>({dz, divisor}, nowhere);
          return compute<formulas::Multiply>({gradients.read_input(x, 0), factor}, nowhere);
        });
      }));
  return y;
}

Tensor logsumexp_of(const Arg& x, const Reduction& r) {
  check_elements("logsumexp", x->shape(), r.axes);
  const bool is_sum = count_over(r.x.shape(), r.axes) > 1;
  Tensor y = reduce_over(Op::max, r.x, r.axes, is_sum ? r.kept : r.shape, 1, r.where);
  if (is_sum) {
    // An infinite maximum is not subtracted: it would leave NaN.
    const Tensor shift = compute<formulas::FiniteOrZero>({y}, r.where);
    const Tensor powers = compute<formulas::ExpOfDifference>({r.x, shift}, r.where);
    const Tensor log_sum = compute<formulas::Log>({sum_over(powers, r.axes, r.kept, 1, r.where)}, r.where);
    y = compute<formulas::Add>({make_view(log_sum, r.shape), make_view(shift, r.shape)}, r.where);
  }
  if (!records(x)) return y;
  record(
      "logsumexp", r.where, y, {x},
      differentiable([kept = r.kept, x = SavedTensor(x), y = SavedTensor(y)](const Tensor& dy, Gradients& gradients) {
        gradients(0, [&] {
          const Tensor total = with_shape(gradients.read_result(y), kept), dz = with_shape(dy, kept);
          const std::array<Input, 3> inputs = {gradients.read_input(x, 0), total, dz};
          return apply_gradient(formulas::id<formulas::LogsumexpGrad>(), inputs, gradients.are_recorded());
        });
      }));
  return y;
}

}  // namespace

Tensor variance(const Arg& x) { return variance_of(x, Reduction("variance", x), 0); }
Tensor variance(const Arg& x, const Axes& axes, bool keep_dims, double correction) {
  return variance_of(x, Reduction("variance", x, axes, keep_dims), correction);
}

Tensor norm(const Arg& x) { return norm_of(x, Reduction("norm", x)); }
Tensor norm(const Arg& x, const Axes& axes, bool keep_dims) {
  return norm_of(x, Reduction("norm", x, axes, keep_dims));
}

Tensor logsumexp(const Arg& x) { return logsumexp_of(x, Reduction("logsumexp", x)); }
Tensor logsumexp(const Arg& x, const Axes& axes, bool keep_dims) {
  return logsumexp_of(x, Reduction("logsumexp", x, axes, keep_dims));
}

}  // namespace asyncgrad
