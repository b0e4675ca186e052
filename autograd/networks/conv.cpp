#include "asyncgrad/autograd/conv.h"

#include <fmt/format.h>

#include "asyncgrad/autograd/forms/parts.h"
#include "asyncgrad/autograd/networks/windows.h"
#include "asyncgrad/autograd/reduce.h"
#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

using namespace detail;

namespace {

// --- The three operations x * w -> y, each of which is linear in both operands. With the gradient of its result in
// place of the result, each one gives the gradients of the other two's operands. All are recorded.

using Conv = ConvAttributes;
const char* name_of(const Conv& conv) { return op_name(Op::conv, &conv); }

Tensor conv_output(const Conv& conv, const Tensor& x, const Tensor& w, const Tensor& bias, const Shape& shape,
                   Location where);
Tensor conv_input(const Conv& conv, const Tensor& dy, const Tensor& w, const Shape& shape);
Tensor conv_weight(const Conv& conv, const Tensor& x, const Tensor& dy, const Shape& shape);

Tensor conv_output(const Conv& conv, const Tensor& x, const Tensor& w, const Tensor& bias, const Shape& shape,
                   Location where) {
  Tensor y = make_like(x, shape);
  OperandList operands;
  operands.add(writes(y));
  operands.add(reads(x));
  operands.add(reads(w));
  operands.add_reads(bias);
  submit(Op::conv, operands, conv, where);
  if (!records(x, w, bias)) return y;
  record(Recorded(Op::conv).as(name_of(conv)), where, y, {x, w, bias},
         differentiable(
             [conv, x = save(x, has_history(w)), w = save(w, has_history(x))](const Tensor& dy, Gradients& gradients) {
               gradients(0, [&] { return conv_input(conv, dy, gradients.read_input(w, 1), gradients.shape(0)); });
               gradients(1, [&] { return conv_weight(conv, gradients.read_input(x, 0), dy, gradients.shape(1)); });
               gradients(2, [&] { return sum(dy, {0, 2, 3}); });
             }));
  return y;
}

Tensor conv_input(const Conv& conv, const Tensor& dy, const Tensor& w, const Shape& shape) {
  Tensor x = make_like(dy, shape);
  submit(Op::conv_input, {writes(x), reads(dy), reads(w)}, conv, Location());
  if (!records(dy, w)) return x;
  record(Recorded(Op::conv_input).as(name_of(conv)), Location(), x, {dy, w},
         differentiable([conv, dy = save(dy, has_history(w)), w = save(w, has_history(dy))](const Tensor& dx,
                                                                                            Gradients& gradients) {
           gradients(0, [&] {
             return conv_output(conv, dx, gradients.read_input(w, 1), Tensor(), gradients.shape(0), Location());
           });
           gradients(1, [&] { return conv_weight(conv, dx, gradients.read_input(dy, 0), gradients.shape(1)); });
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
  submit(Op::conv_weight, {writes(sums), reads(x), reads(dy)}, conv, Location());
  Tensor w = weight_of(sums, groups, shape);
  if (!records(x, dy)) return w;
  record(Recorded(Op::conv_weight).as(name_of(conv)), Location(), w, {x, dy},
         differentiable([conv, x = save(x, has_history(dy)), dy = save(dy, has_history(x))](const Tensor& dw,
                                                                                            Gradients& gradients) {
           gradients(0, [&] { return conv_input(conv, gradients.read_input(dy, 1), dw, gradients.shape(0)); });
           gradients(1, [&] {
             return conv_output(conv, gradients.read_input(x, 0), dw, Tensor(), gradients.shape(1), Location());
           });
         }));
  return w;
}

// --- Checks

void check_operands(const char* name, const Arg& x, const Tensor& weight, const Tensor& bias, std::int64_t groups,
                    int rank) {
  const NamedOperand operands[] = {{"x", checked_operand(x, name)}, {"weight", checked_operand(weight, name)}};
  check_alike(name, {operands[0], operands[1]});
  check_dtype(Op::conv, name, operands[0]);
  const Shape &xs = operands[0].impl.shape, &ws = operands[1].impl.shape;
  if (xs.rank() != rank || ws.rank() != rank) {
    throw_error(name, fmt::format("needs {}: {}",
                                  rank == 4 ? "x (N, C, H, W) and weight (O, C / groups, h, w)"
                                            : "x (N, C, L) and weight (O, C / groups, k)",
                                  shapes_str(operands)));
  }
  if (ws.numel() == 0) throw_error(name, fmt::format("the weight has no elements: {}", shapes_str(operands)));
  if (groups < 1 || ws[0] % groups != 0 || xs[1] % groups != 0 || xs[1] / groups != ws[1]) {
    throw_error(name,
                fmt::format("the weight does not fit the channels in {} groups: {}", groups, shapes_str(operands)));
  }
  if (!bias.defined()) return;
  const NamedOperand b{"bias", checked_operand(bias, name)};
  check_alike(name, {operands[0], b});
  if (b.impl.shape == Shape{ws[0]}) return;
  throw_error(name,
              fmt::format("bias must have the shape ({}): weight {}, bias {}", ws[0], ws.str(), b.impl.shape.str()));
}

Tensor convolved(const char* name, bool is_one_dimensional, const Tensor& x, const Tensor& weight, const Tensor& bias,
                 const Conv2dOptions& options, Location where) {
  check_option(name, "stride", options.stride, 1);
  check_option(name, "padding", options.padding, 0);
  check_option(name, "dilation", options.dilation, 1);
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

}  // namespace

Tensor conv2d(const Arg& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options) {
  check_operands("conv2d", x, weight, bias, options.groups, 4);
  return convolved("conv2d", false, x, weight, bias, options, x.where());
}

Tensor conv1d(const Arg& x, const Tensor& weight, const Tensor& bias, const Conv1dOptions& options) {
  check_operands("conv1d", x, weight, bias, options.groups, 3);
  const auto with_height = [](const Tensor& t) { return with_shape(t, {t.size(0), t.size(1), 1, t.size(2)}); };
  const Conv2dOptions along_width{.stride = {1, options.stride},
                                  .padding = {0, options.padding},
                                  .dilation = {1, options.dilation},
                                  .groups = options.groups};
  const Tensor y = convolved("conv1d", true, with_height(x), with_height(weight), bias, along_width, x.where());
  return with_shape(y, {y.size(0), y.size(1), y.size(3)});
}

}  // namespace asyncgrad
