// Pooling and interpolation: autograd/pool.h and autograd/interpolate.h.
#include "functions.h"
#include "module.h"
#include "rows.h"

namespace asyncgrad::python {

namespace {

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
}

void bind_interpolate(nb::module_& m) {
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

}  // namespace

void bind_pooling_functions(nb::module_& m) {
  bind_pooling(m);
  bind_pooling_of_lines(m);
  bind_interpolate(m);
}

}  // namespace asyncgrad::python
