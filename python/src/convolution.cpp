// Convolutions: autograd/conv.h.
#include "call.h"
#include "conversion.h"
#include "functions.h"
#include "module.h"
#include "rows.h"

namespace asyncgrad::python {

namespace {

void bind_convolutions(nb::module_& m) {
  const Conv2dOptions of_planes;
  m.def(
      "conv2d",
      [](Handle x, Handle weight, Handle bias, Handle stride, Handle padding, Handle dilation, std::int64_t groups) {
        const Call call(x);
        return call.result(conv2d(call.arg(tensor_from(x)), tensor_from(weight), tensor_or_none(bias),
                                  {.stride = size_from(stride, "conv2d", "stride"),
                                   .padding = size_from(padding, "conv2d", "padding"),
                                   .dilation = size_from(dilation, "conv2d", "dilation"),
                                   .groups = groups}));
      },
      nb::arg("x"), nb::arg("weight"), nb::arg("bias") = nb::none(), nb::arg("stride") = shown(of_planes.stride),
      nb::arg("padding") = shown(of_planes.padding), nb::arg("dilation") = shown(of_planes.dilation),
      nb::arg("groups") = of_planes.groups,
      "The convolution: x (N, C, H, W), weight (O, C / groups, h, w), bias (O) -> (N, O, P, Q), P = (H + 2 padding - "
      "dilation (h - 1) - 1) // stride + 1, and Q the same of W and w. Sizes are numbers or pairs (height, width).");
  const Conv1dOptions of_lines;
  m.def(
      "conv1d",
      [](Handle x, Handle weight, Handle bias, std::int64_t stride, std::int64_t padding, std::int64_t dilation,
         std::int64_t groups) {
        const Call call(x);
        return call.result(conv1d(call.arg(tensor_from(x)), tensor_from(weight), tensor_or_none(bias),
                                  {.stride = stride, .padding = padding, .dilation = dilation, .groups = groups}));
      },
      nb::arg("x"), nb::arg("weight"), nb::arg("bias") = nb::none(), nb::arg("stride") = of_lines.stride,
      nb::arg("padding") = of_lines.padding, nb::arg("dilation") = of_lines.dilation,
      nb::arg("groups") = of_lines.groups,
      "The convolution with one axis: x (N, C, L), weight (O, C / groups, k), bias (O) -> (N, O, M).");
}

void bind_transposed_convolutions(nb::module_& m) {
  const ConvTranspose2dOptions of_planes;
  m.def(
      "conv_transpose2d",
      [](Handle x, Handle weight, Handle bias, Handle stride, Handle padding, Handle output_padding,
         std::int64_t groups, Handle dilation) {
        const Call call(x);
        return call.result(
            conv_transpose2d(call.arg(tensor_from(x)), tensor_from(weight), tensor_or_none(bias),
                             {.stride = size_from(stride, "conv_transpose2d", "stride"),
                              .padding = size_from(padding, "conv_transpose2d", "padding"),
                              .output_padding = size_from(output_padding, "conv_transpose2d", "output_padding"),
                              .dilation = size_from(dilation, "conv_transpose2d", "dilation"),
                              .groups = groups}));
      },
      nb::arg("x"), nb::arg("weight"), nb::arg("bias") = nb::none(), nb::arg("stride") = shown(of_planes.stride),
      nb::arg("padding") = shown(of_planes.padding), nb::arg("output_padding") = shown(of_planes.output_padding),
      nb::arg("groups") = of_planes.groups, nb::arg("dilation") = shown(of_planes.dilation),
      "The transposed convolution: x (N, C, H, W), weight (C, O / groups, h, w), bias (O) -> (N, O, P, Q), P = (H - 1) "
      "stride - 2 padding + dilation (h - 1) + output_padding + 1, and Q the same of W and w. Sizes are numbers "
      "or pairs (height, width).");
  const ConvTranspose1dOptions of_lines;
  m.def(
      "conv_transpose1d",
      [](Handle x, Handle weight, Handle bias, std::int64_t stride, std::int64_t padding, std::int64_t output_padding,
         std::int64_t groups, std::int64_t dilation) {
        const Call call(x);
        return call.result(conv_transpose1d(call.arg(tensor_from(x)), tensor_from(weight), tensor_or_none(bias),
                                            {.stride = stride,
                                             .padding = padding,
                                             .output_padding = output_padding,
                                             .dilation = dilation,
                                             .groups = groups}));
      },
      nb::arg("x"), nb::arg("weight"), nb::arg("bias") = nb::none(), nb::arg("stride") = of_lines.stride,
      nb::arg("padding") = of_lines.padding, nb::arg("output_padding") = of_lines.output_padding,
      nb::arg("groups") = of_lines.groups, nb::arg("dilation") = of_lines.dilation,
      "The transposed convolution with one axis: x (N, C, L), weight (C, O / groups, k), bias (O) -> (N, O, M).");
}

}  // namespace

void bind_convolution_functions(nb::module_& m) {
  bind_convolutions(m);
  bind_transposed_convolutions(m);
}

}  // namespace asyncgrad::python
