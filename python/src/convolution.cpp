// Convolutions, pooling and batch normalisation: autograd/conv.h and autograd/batch_norm.h.
#include "rows.h"

namespace asyncgrad::python {

namespace {

using Handle = nb::handle;

Size2d size_from(Handle given, const char* function, const char* name) {
  return read_parameter(given, {function, name}, static_cast<const Size2d*>(nullptr));
}

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
      "stride - 2 padding + dilation (h - 1) + output_padding + 1, and Q the same of W and w. Sizes are numbers or "
      "pairs "
      "(height, width).");
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

struct Pooling {
  const char* name;
  Tensor (*function)(const Arg&, Size2d, const PoolOptions&);
  const char* doc;
};

constexpr Pooling poolings[] = {
    {"max_pool2d", max_pool2d,
     "The largest element of each window: (N, C, H, W) -> (N, C, P, Q), P = (H + 2 padding - kernel_size) // "
     "stride + 1, and Q the same of W. Sizes are numbers or pairs (height, width); a stride of 0 or None is the "
     "kernel_size."},
    {"avg_pool2d", avg_pool2d, "The mean of each window, in which padding counts as 0; shapes as those of max_pool2d."},
};

void bind_pooling(nb::module_& m) {
  const PoolOptions unchanged;
  for (const Pooling& row : poolings) {
    m.def(
        row.name,
        [row = &row](Handle x, Handle kernel, Handle stride, Handle padding) {
          const Call call(x);
          PoolOptions options{.padding = size_from(padding, row->name, "padding")};
          if (!stride.is_none()) options.stride = size_from(stride, row->name, "stride");
          return call.result(
              row->function(call.arg(tensor_from(x)), size_from(kernel, row->name, "kernel_size"), options));
        },
        nb::arg("x"), nb::arg("kernel_size"), nb::arg("stride") = shown(unchanged.stride),
        nb::arg("padding") = shown(unchanged.padding), row.doc);
  }
}

void bind_pooling_of_lines(nb::module_& m) {
  struct PoolingOfLines {
    const char* name;
    Tensor (*function)(const Arg&, std::int64_t, const Pool1dOptions&);
    const char* doc;
  };
  static constexpr PoolingOfLines rows[] = {
      {"max_pool1d", max_pool1d, "max_pool2d() with one axis: (N, C, L) -> (N, C, M)."},
      {"avg_pool1d", avg_pool1d, "avg_pool2d() with one axis: (N, C, L) -> (N, C, M)."}};
  const Pool1dOptions unchanged;
  for (const PoolingOfLines& row : rows) {
    m.def(
        row.name,
        [row = &row](Handle x, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
          const Call call(x);
          return call.result(row->function(call.arg(tensor_from(x)), kernel, {.stride = stride, .padding = padding}));
        },
        nb::arg("x"), nb::arg("kernel_size"), nb::arg("stride") = unchanged.stride,
        nb::arg("padding") = unchanged.padding, row.doc);
  }
  m.def(
      "interpolate",
      [](Handle x, Handle size, Handle mode, bool align_corners) {
        const Call call(x);
        const Interpolation chosen =
            read_parameter(mode, {"interpolate", "mode"}, static_cast<const Interpolation*>(nullptr));
        return call.result(interpolate(call.arg(tensor_from(x)), size_from(size, "interpolate", "size"),
                                       {.mode = chosen, .align_corners = align_corners}));
      },
      nb::arg("x"), nb::arg("size"), nb::arg("mode") = shown(InterpolateOptions{}.mode),
      nb::arg("align_corners") = InterpolateOptions{}.align_corners,
      "Planes of another size: (N, C, H, W) -> (N, C, size). The mode is 'nearest' or 'bilinear'.");
}

void bind_batch_norm(nb::module_& m) {
  m.def(
      "batch_norm",
      [](Handle x, Handle weight, Handle bias, double epsilon) {
        const Call call(x);
        BatchNormResult result =
            batch_norm(call.arg(tensor_from(x)), tensor_or_none(weight), tensor_or_none(bias), {.epsilon = epsilon});
        return nb::make_tuple(call.result(std::move(result.y)), call.result(std::move(result.mean)),
                              call.result(std::move(result.variance)));
      },
      nb::arg("x"), nb::arg("weight") = nb::none(), nb::arg("bias") = nb::none(),
      nb::arg("epsilon") = asyncgrad::BatchNormOptions{}.epsilon,
      "((x - mean) / sqrt(variance + epsilon) weight + bias, mean, variance), with the mean and variance of each "
      "channel: x (N, C) or (N, C, ...), the others (C).");
  m.def(
      "batch_norm_with",
      [](Handle x, Handle mean, Handle variance, Handle weight, Handle bias, double epsilon) {
        const Call call(x);
        return call.result(batch_norm_with(call.arg(tensor_from(x)), tensor_from(mean), tensor_from(variance),
                                           tensor_or_none(weight), tensor_or_none(bias), {.epsilon = epsilon}));
      },
      nb::arg("x"), nb::arg("mean"), nb::arg("variance"), nb::arg("weight") = nb::none(), nb::arg("bias") = nb::none(),
      nb::arg("epsilon") = asyncgrad::BatchNormOptions{}.epsilon,
      "batch_norm() with statistics that are given: x (N, C) or (N, C, ...), the others (C).");
  m.def(
      "update_running",
      [](Handle running, double keep, Handle value, double weight) {
        const Call call(value);
        nn::update_running(tensor_in(running.ptr()), keep, call.arg(tensor_from(value)), weight);
      },
      nb::arg("running"), nb::arg("keep"), nb::arg("value"), nb::arg("weight"),
      "running <- keep running + weight value, in place and without a history: how a layer goes on with a running "
      "statistic. In the loop over asyncgrad.dist.Parts.mine() average() makes the update.");
}

}  // namespace

void bind_windows(nb::module_& m) {
  bind_convolutions(m);
  bind_transposed_convolutions(m);
  bind_pooling(m);
  bind_pooling_of_lines(m);
  bind_batch_norm(m);
}

}  // namespace asyncgrad::python
