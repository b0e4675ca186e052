#include "asyncgrad/autograd/conv.h"

#include <fmt/format.h>

#include "asyncgrad/autograd/forms/parts.h"
#include "asyncgrad/autograd/networks/windows.h"
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

// --- The three operations x * w -> y, each of which is linear in both operands. With the gradient of its result in
// place of the result, each one gives the gradients of the other two's operands. All are recorded.

using Conv = ConvAttributes;
const char* name_of(const Conv& conv) { return op_name(conv.is_transposed ? Op::conv_input : Op::conv, &conv); }

Tensor conv_output(const Conv& conv, const Tensor& x, const Tensor& w, const Tensor& bias, const Shape& shape,
                   Location where);
Tensor conv_input(const Conv& conv, const Tensor& dy, const Tensor& w, const Tensor& bias, const Shape& shape,
                  Location where);
Tensor conv_weight(const Conv& conv, const Tensor& x, const Tensor& dy, const Shape& shape);

// Each has the math mode of the call that queues it, which for a gradient is another call.
Conv in_math_mode(Conv conv) {
  conv.math = math_mode();
  return conv;
}

// They begin with a bias if they are what a user called.
void submit_with_bias(Op op, const Conv& conv, const Tensor& result, const Tensor& x, const Tensor& w,
                      const Tensor& bias, Location where) {
  OperandList operands;
  operands.add(writes(result));
  operands.add(reads(x));
  operands.add(reads(w));
  operands.add_reads(bias);
  submit(op, operands, in_math_mode(conv), where);
}

Tensor conv_output(const Conv& conv, const Tensor& x, const Tensor& w, const Tensor& bias, const Shape& shape,
                   Location where) {
  Tensor y = make_like(x, shape);
  submit_with_bias(Op::conv, conv, y, x, w, bias, where);
  if (!records(x, w, bias)) return y;
  record(Recorded(Op::conv).as(name_of(conv)), where, y, {x, w, bias},
         differentiable(
             [conv, x = save(x, has_history(w)), w = save(w, has_history(x))](const Tensor& dy, Gradients& gradients) {
               gradients(0, [&] {
                 return conv_input(conv, dy, gradients.read_input(w, 1), Tensor(), gradients.shape(0), Location());
               });
               gradients(1, [&] { return conv_weight(conv, gradients.read_input(x, 0), dy, gradients.shape(1)); });
               gradients(2, [&] { return sum(dy, {0, 2, 3}); });
             }));
  return y;
}

Tensor conv_input(const Conv& conv, const Tensor& dy, const Tensor& w, const Tensor& bias, const Shape& shape,
                  Location where) {
  Tensor x = make_like(dy, shape);
  submit_with_bias(Op::conv_input, conv, x, dy, w, bias, where);
  if (!records(dy, w, bias)) return x;
  record(Recorded(Op::conv_input).as(name_of(conv)), where, x, {dy, w, bias},
         differentiable([conv, dy = save(dy, has_history(w)), w = save(w, has_history(dy))](const Tensor& dx,
                                                                                            Gradients& gradients) {
           gradients(0, [&] {
             return conv_output(conv, dx, gradients.read_input(w, 1), Tensor(), gradients.shape(0), Location());
           });
           gradients(1, [&] { return conv_weight(conv, dx, gradients.read_input(dy, 0), gradients.shape(1)); });
           gradients(2, [&] { return sum(dx, {0, 2, 3}); });
         }));
  return x;
}

// The kernel's sums, a part of the batch and a group each, with the axis of outputs last, in the weight's shape.
Tensor weight_of(const Tensor& sums, std::int64_t groups, const Shape& shape) {
  const std::int64_t parts = sums.size(0) / groups, width = shape[1] * shape[2] * shape[3];
  const Tensor all = make_view(sums, {parts, groups, width, shape[0] / groups});
  const Tensor total = parts == 1 ? make_view(all, {groups, width, shape[0] / groups}) : sum(all, 0);
  return make_view(transpose(total), shape);
}

Tensor conv_weight(const Conv& conv, const Tensor& x, const Tensor& dy, const Shape& shape) {
  const std::int64_t groups = conv.groups, outputs = shape[0] / groups;
  const std::int64_t parts = conv_weight_parts(x.size(0), groups, shape[1], shape[2] * shape[3], outputs);
  const Tensor sums = make_like(dy, {parts * groups, shape[1], shape[2], shape[3], outputs});
  submit(Op::conv_weight, {writes(sums), reads(x), reads(dy)}, in_math_mode(conv), Location());
  Tensor w = weight_of(sums, groups, shape);
  if (!records(x, dy)) return w;
  record(Recorded(Op::conv_weight).as(name_of(conv)), Location(), w, {x, dy},
         differentiable([conv, x = save(x, has_history(dy)), dy = save(dy, has_history(x))](const Tensor& dw,
                                                                                            Gradients& gradients) {
           gradients(0, [&] {
             return conv_input(conv, gradients.read_input(dy, 1), dw, Tensor(), gradients.shape(0), Location());
           });
           gradients(1, [&] {
             return conv_output(conv, gradients.read_input(x, 0), dw, Tensor(), gradients.shape(1), Location());
           });
         }));
  return w;
}

// --- Checks

// "; a weight (2, 8, 3, 3) fits x".
std::string fitting_weight(const Shape& x, const Shape& weight, std::int64_t groups, bool is_transposed) {
  if (x[1] == 0 || x[1] % groups != 0) return "; the groups must divide its channels";
  return fmt::format("; a weight {} fits x",
                     is_transposed ? weight.with(0, x[1]).str() : weight.with(1, x[1] / groups).str());
}

// The bias has an element for each output, of which a transposed convolution's weight has those of one group.
void check_operands(const char* name, const Arg& x, const Tensor& weight, const Tensor& bias, std::int64_t groups,
                    int rank, bool is_transposed) {
  const NamedOperand operands[] = {{"x", checked_operand(x, name)}, {"weight", checked_operand(weight, name)}};
  check_alike(name, {operands[0], operands[1]});
  check_dtype(Op::conv, name, operands[0]);
  const Shape &xs = operands[0].impl.shape, &ws = operands[1].impl.shape;
  const char* const axes = rank == 4 ? "H, W" : "L";
  if (xs.rank() != rank || ws.rank() != rank) {
    throw_error(name, fmt::format("needs x (N, C, {}) and weight ({}, {}): {}{}", axes,
                                  is_transposed ? "C, O / groups" : "O, C / groups", rank == 4 ? "h, w" : "k",
                                  shapes_str(operands), image_hint(xs, -1, rank)));
  }
  if (ws.numel() == 0) throw_error(name, fmt::format("the weight has no elements: {}", shapes_str(operands)));
  if (groups < 1 || ws[0] % groups != 0) {
    throw_error(name, fmt::format("the groups must divide the channels: {} groups, {}", groups, shapes_str(operands)));
  }
  const std::int64_t channels = is_transposed ? ws[0] : ws[1] * groups;
  if (xs[1] != channels) {
    const std::string hint = image_hint(xs, channels, rank);
    throw_error(name, fmt::format("the weight is for x (N, {}, {}) in {} group{}: {}{}", channels, axes, groups,
                                  groups == 1 ? "" : "s", shapes_str(operands),
                                  hint.empty() ? fitting_weight(xs, ws, groups, is_transposed) : hint));
  }
  if (!bias.defined()) return;
  const NamedOperand b{"bias", checked_operand(bias, name)};
  check_alike(name, {operands[0], b});
  const std::int64_t outputs = is_transposed ? ws[1] * groups : ws[0];
  if (b.impl.shape == Shape{outputs}) return;
  throw_error(name,
              fmt::format("bias must have the shape ({}): weight {}, bias {}", outputs, ws.str(), b.impl.shape.str()));
}

Tensor convolved(const char* name, bool is_one_dimensional, const Tensor& x, const Tensor& weight, const Tensor& bias,
                 const Conv2dOptions& options, Location where) {
  check_options(name, options);
  const Size2d counts =
      window_counts(name, {x.size(2), x.size(3)},
                    {{weight.size(2), weight.size(3)}, options.stride, options.padding, options.dilation});
  const Conv conv{.stride = array_of(options.stride),
                  .padding = array_of(options.padding),
                  .dilation = array_of(options.dilation),
                  .groups = options.groups,
                  .is_one_dimensional = is_one_dimensional};
  return conv_output(conv, x, weight, bias, {x.size(0), weight.size(0), counts.height, counts.width}, where);
}

// The length of an axis of a transposed convolution's result. Throws Error if it is below 1, or numbers do not fit.
std::int64_t transposed_length(const char* name, std::int64_t in, std::int64_t kernel, std::int64_t stride,
                               std::int64_t padding, std::int64_t more, std::int64_t dilation) {
  const auto numbers = [&] {
    return fmt::format("input {}, kernel {}, stride {}, padding {}, output_padding {}, dilation {}", in, kernel, stride,
                       padding, more, dilation);
  };
  std::int64_t reach = 0, length = 0, cut = 0;
  if (in < 1 || __builtin_mul_overflow(in - 1, stride, &reach) ||
      __builtin_mul_overflow(kernel - 1, dilation, &length) || __builtin_add_overflow(length, reach, &length) ||
      __builtin_add_overflow(length, more + 1, &length) || __builtin_mul_overflow(padding, 2, &cut)) {
    throw_error(name, fmt::format("{}: {}", in < 1 ? "the input has no elements" : "numbers are too large", numbers()));
  }
  if (length <= cut)
    throw_error(name, fmt::format("the padding cuts off the whole result: {}; take less of it", numbers()));
  return length - cut;
}

Tensor transposed(const char* name, bool is_one_dimensional, const Tensor& x, const Tensor& weight, const Tensor& bias,
                  const ConvTranspose2dOptions& options, Location where) {
  check_options(name, options);
  const std::int64_t height =
      transposed_length(name, x.size(2), weight.size(2), options.stride.height, options.padding.height,
                        options.output_padding.height, options.dilation.height);
  const std::int64_t width =
      transposed_length(name, x.size(3), weight.size(3), options.stride.width, options.padding.width,
                        options.output_padding.width, options.dilation.width);
  const Conv conv{.stride = array_of(options.stride),
                  .padding = array_of(options.padding),
                  .dilation = array_of(options.dilation),
                  .groups = options.groups,
                  .is_one_dimensional = is_one_dimensional,
                  .is_transposed = true};
  return conv_input(conv, x, weight, bias, {x.size(0), weight.size(1) * options.groups, height, width}, where);
}

// A tensor (N, C, L) with an axis of height.
Tensor with_height(const Tensor& t) { return with_shape(t, {t.size(0), t.size(1), 1, t.size(2)}); }
Tensor without_height(const Tensor& t) { return with_shape(t, {t.size(0), t.size(1), t.size(3)}); }

}  // namespace

Tensor conv2d(const Arg& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options) {
  check_operands("conv2d", x, weight, bias, options.groups, 4, false);
  return convolved("conv2d", false, x, weight, bias, options, x.where());
}

Tensor conv1d(const Arg& x, const Tensor& weight, const Tensor& bias, const Conv1dOptions& options) {
  check_operands("conv1d", x, weight, bias, options.groups, 3, false);
  return without_height(
      convolved("conv1d", true, with_height(x), with_height(weight), bias, along_width(options), x.where()));
}

Tensor conv_transpose2d(const Arg& x, const Tensor& weight, const Tensor& bias, const ConvTranspose2dOptions& options) {
  check_operands("conv_transpose2d", x, weight, bias, options.groups, 4, true);
  return transposed("conv_transpose2d", false, x, weight, bias, options, x.where());
}

Tensor conv_transpose1d(const Arg& x, const Tensor& weight, const Tensor& bias, const ConvTranspose1dOptions& options) {
  check_operands("conv_transpose1d", x, weight, bias, options.groups, 3, true);
  return without_height(
      transposed("conv_transpose1d", true, with_height(x), with_height(weight), bias, along_width(options), x.where()));
}

}  // namespace asyncgrad
