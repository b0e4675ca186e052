#include "asyncgrad/autograd/ctc.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/indexing.h"
#include "asyncgrad/autograd/networks/decomposed.h"
#include "asyncgrad/autograd/reduce.h"
#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad {

using namespace detail;

namespace {

constexpr double impossible = -1e30;  // the logarithm of a probability of 0, but with a gradient that is a number

// (N, K + shift), of which the last K columns are kept: those of x, `shift` columns to the right.
Tensor shifted(const Tensor& x, std::int64_t shift) {
  const Tensor before = full({x.size(0), shift}, impossible, {.dtype = x.dtype(), .device = x.device()});
  return slice(concat({before, x}, 1), 1, 0, x.size(1));
}

// (N, 2 S + 1): the labels with blanks around each, and blanks where no label counts.
Tensor with_blanks(const Tensor& targets, const Tensor& lengths, std::int64_t blank) {
  const std::int64_t samples = targets.size(0), count = targets.size(1);
  const TensorOptions integers{.dtype = int64, .device = targets.device()};
  const Tensor counts = arange(0, count, 1, integers) < lengths.reshape({samples, 1});
  const Tensor labels = where(counts, targets, blank);
  const Tensor pairs = stack({full(targets.shape(), blank, integers), labels}, 2).reshape({samples, 2 * count});
  return concat({pairs, full({samples, 1}, blank, integers)}, 1);
}

}  // namespace

// The recursion over the steps, for all samples and states at once: state s is element s of the labels with blanks.
Tensor detail::decomposed_ctc(const Tensor& x, const CtcTargets& t, std::int64_t blank) {
  const std::int64_t steps = x.size(0), samples = x.size(1), states = 2 * t.targets.size(1) + 1;
  const TensorOptions integers{.dtype = int64, .device = x.device()};
  if (steps == 0) return sum(x, {0, 2});  // zeros, which depend on x
  const Tensor labels = with_blanks(t.targets, t.target_lengths, blank);
  const Tensor of_states = gather(x, expand(labels, {steps, samples, states}), 2);
  // Not to blanks: what lies before the label before a blank is one, too.
  const std::int64_t first = std::min<std::int64_t>(states, 2);
  const Tensor differs = slice(labels, 1, first, states) != slice(labels, 1, 0, states - first);
  const Tensor may_skip = concat({zeros({samples, first}, {.dtype = boolean, .device = x.device()}), differs}, 1);
  const Tensor state = arange(0, states, 1, integers);
  const Tensor input_lengths = t.input_lengths.reshape({samples, 1}), ends = 2 * t.target_lengths.reshape({samples, 1});
  Tensor sums = where(state < 2, of_states[0], impossible);
  for (std::int64_t step = 1; step < steps; ++step) {
    const Tensor skipped = where(may_skip, shifted(sums, 2), impossible);
    const Tensor next = logsumexp(stack({sums, shifted(sums, 1), skipped}, 2), 2) + of_states[step];
    sums = where(input_lengths > step, next, sums);
  }
  const Tensor has_labels = ends > 0;
  const Tensor at_label = where(has_labels, gather(sums, maximum(ends - 1, 0), 1), impossible);
  const Tensor losses = -logsumexp(concat({gather(sums, ends, 1), at_label}, 1), 1);
  return where(t.input_lengths > 0, losses, 0);
}

namespace {

void check_shapes(std::span<const NamedOperand> operands) {
  const Shape &x = operands[0].impl.shape, &targets = operands[1].impl.shape, &inputs = operands[2].impl.shape,
              &lengths = operands[3].impl.shape;
  if (x.rank() != 3 || targets.rank() != 2 || targets[0] != x[1] || inputs != Shape{x[1]} || lengths != inputs) {
    throw_error("ctc", fmt::format("needs log_probabilities (T, N, C), targets (N, S), input_lengths (N) and "
                                   "target_lengths (N), got {}",
                                   shapes_str(operands)));
  }
  constexpr int most = std::numeric_limits<int>::max();  // a sample is a tile of the kernel
  if (x[1] > most) throw_error("ctc", fmt::format("takes at most {} samples at once, got {}", most, x[1]));
}

Tensor in_int64(const Arg& integers) {
  return is_narrow_index(integers->dtype()) ? wide_indices(integers) : integers.tensor();
}

Tensor losses_of(const Tensor& x, const CtcTargets& t, std::int64_t blank, Location where) {
  Tensor losses = make_like(x, {x.size(1)});
  submit(Op::ctc, {writes(losses), reads(x), reads(t.targets), reads(t.input_lengths), reads(t.target_lengths)},
         CtcAttributes{blank}, where);
  if (!records(x)) return losses;
  const auto backward = [blank, x = SavedTensor(x), targets = SavedTensor(t.targets),
                         input_lengths = SavedTensor(t.input_lengths),
                         target_lengths = SavedTensor(t.target_lengths)](const Tensor& dy, Gradients& gradients) {
    const Tensor& input = gradients.read_input(x, 0);
    const CtcTargets given{gradients.read(targets), gradients.read(input_lengths), gradients.read(target_lengths)};
    if (gradients.are_recorded()) {
      const auto form = [&](std::span<const Tensor> inputs) { return decomposed_ctc(inputs[0], given, blank); };
      return differentiate(gradients, std::array{input}, dy, form);
    }
    gradients(0, [&] {
      Tensor dx = make_like(input, input.shape());
      submit(Op::ctc_grad,
             {writes(dx), reads(input), reads(given.targets), reads(given.input_lengths), reads(given.target_lengths),
              reads(dy)},
             CtcAttributes{blank}, Location());
      return dx;
    });
  };
  record(Op::ctc, where, losses, {x}, differentiable(backward));
  return losses;
}

}  // namespace

Tensor ctc(const Arg& log_probabilities, const Arg& targets, const Arg& input_lengths, const Arg& target_lengths,
           std::int64_t blank) {
  const TensorImpl& x = checked_operand(log_probabilities, "ctc");
  const NamedOperand operands[] = {{"log_probabilities", x},
                                   {"targets", checked_operand(targets, "ctc")},
                                   {"input_lengths", checked_operand(input_lengths, "ctc")},
                                   {"target_lengths", checked_operand(target_lengths, "ctc")}};
  check_devices("ctc", operands);
  check_dtype(Op::ctc, "ctc", operands[0]);
  check_shapes(operands);
  for (const NamedOperand& integers : std::span(operands).subspan(1)) {
    if (integers.impl.dtype == DType::int64 || is_narrow_index(integers.impl.dtype)) continue;
    throw_error("ctc",
                fmt::format("{} must be int64, got {}; {}{} converts them", integers.name, name(integers.impl.dtype),
                            integers.name, to_str(int64)),
                ErrorKind::type);
  }
  if (blank < 0 || blank >= x.shape[2]) {
    throw_error("ctc", fmt::format("the blank {} is outside of the {} classes of log_probabilities {}", blank,
                                   x.shape[2], x.shape.str()));
  }
  const CtcTargets given{in_int64(targets), in_int64(input_lengths), in_int64(target_lengths)};
  return losses_of(log_probabilities, given, blank, log_probabilities.where());
}

}  // namespace asyncgrad
