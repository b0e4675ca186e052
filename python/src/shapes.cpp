// Functions that give the same elements another shape or order, and that join and split tensors.
#include <algorithm>

#include "asyncgrad/core/checks.h"
#include "call.h"
#include "conversion.h"
#include "errors.h"
#include "functions.h"
#include "module.h"
#include "tensor.h"

namespace asyncgrad::python {

namespace {

TensorObject permuted(const Call& call, const Tensor& x, const nb::args& args) {
  std::vector<int> axes;
  if (args.size() == 0 || (args.size() == 1 && args[0].is_none())) {
    for (int i = x.rank() - 1; i >= 0; --i) axes.push_back(i);
  } else {
    axes = *axes_from(args.size() == 1 ? Object(args[0]) : Object(args));
  }
  if (x.rank() <= 1 && axes.size() == static_cast<std::size_t>(x.rank())) {
    for (const int axis : axes) checked_axis("permute", x.shape(), axis);
    return call.result(clone(call.arg(x)));
  }
  return call.result(permute(call.arg(x), axes_of(axes)));
}

}  // namespace

void bind_shapes(nb::module_& m, TensorClass& c) {
  m.def(
      "reshape",
      [](Handle x, Handle shape) {
        const Call call(x);
        const Tensor tensor = tensor_from(x);
        return call.result(reshape(call.arg(tensor), reshaped(tensor, shape)));
      },
      nb::arg("x"), nb::arg("shape"), "The elements in the same order; one extent may be -1. Shares the values.");
  c.def(
      "reshape",
      [](Handle x, const nb::args& args) {
        const Call call(x);
        const Tensor& tensor = tensor_in(x.ptr());
        return call.result(
            reshape(call.arg(tensor), reshaped(tensor, args.size() == 1 ? Object(args[0]) : Object(args))));
      },
      "The elements in the same order: reshape(2, -1) or reshape((2, -1)). Shares the values.");
  m.def(
      "transpose",
      [](Handle x, Handle axes) {
        const Call call(x);
        return permuted(call, tensor_from(x), nb::borrow<nb::args>(nb::make_tuple(nb::borrow(axes))));
      },
      nb::arg("x"), nb::arg("axes") = nb::none(), "A copy with the axes in another order; without `axes`, reversed.");
  c.def(
      "transpose", [](Handle x, const nb::args& args) { return permuted(Call(x), tensor_in(x.ptr()), args); },
      "A copy with the axes in another order: transpose(), transpose(1, 0) or transpose((1, 0)).");
  c.def(
      "permute", [](Handle x, const nb::args& args) { return permuted(Call(x), tensor_in(x.ptr()), args); },
      "The same as transpose(): a copy with the axes in another order.");
  c.def_prop_ro(
      "T", [](Handle x) { return permuted(Call(x), tensor_in(x.ptr()), nb::borrow<nb::args>(nb::make_tuple())); },
      "A copy with all axes in the opposite order.");
  both(
      m, c, "swapaxes",
      [](Handle x, int a, int b) {
        const Call call(x);
        const Tensor tensor = tensor_from(x);
        if (checked_axis("swapaxes", tensor.shape(), a) == checked_axis("swapaxes", tensor.shape(), b))
          return call.result(clone(call.arg(tensor)));
        return call.result(transpose(call.arg(tensor), a, b));
      },
      "A copy with two axes exchanged.", nb::arg("axis1"), nb::arg("axis2"));
  both(
      m, c, "squeeze",
      [](Handle x, Handle axis) {
        const Call call(x);
        const Tensor tensor = tensor_from(x);
        const auto axes = axes_from(axis);
        return call.result(axes ? squeeze(call.arg(tensor), axes_of(*axes)) : squeeze(call.arg(tensor)));
      },
      "Without the axes of extent 1, or without the given ones. Shares the values.", nb::arg("axis") = nb::none());
  for (const char* name : {"expand_dims", "unsqueeze"}) {
    both(
        m, c, name,
        [](Handle x, int axis) {
          const Call call(x);
          return call.result(unsqueeze(call.arg(tensor_from(x)), axis));
        },
        "With one more axis of extent 1. Shares the values.", nb::arg("axis"));
  }
  both(
      m, c, "flip",
      [](Handle x, Handle axis) {
        const Call call(x);
        const Tensor tensor = tensor_from(x);
        return call.result(flip(call.arg(tensor), axes_of(axes_or_all(axis, tensor.rank()))));
      },
      "The elements of the axes in the opposite order.", nb::arg("axis") = nb::none());
  both(
      m, c, "broadcast_to",
      [](Handle x, Handle shape) {
        const Call call(x);
        return call.result(expand(call.arg(tensor_from(x)), shape_from(shape)));
      },
      "x repeated to a shape, as broadcasting does.", nb::arg("shape"));
  both(
      m, c, "tile",
      [](Handle x, Handle reps) {
        const Call call(x);
        return call.result(tile(call.arg(tensor_from(x)), shape_from(reps)));
      },
      "x repeated as a whole along each axis.", nb::arg("reps"));
  m.def(
      "pad",
      [](Handle x, Handle widths, Handle value) {
        const Call call(x);
        std::vector<Padding> padding;
        constexpr const char* wanted = "pairs (before, after), one for each axis,";
        for (const Object& pair : items_from(widths, wanted)) {
          if (PySequence_Check(pair.ptr()) == 0 || nb::len(pair) != 2) {
            throw_type_error(std::string("a list of ") + wanted + " is asked for, not " + repr_of(widths));
          }
          padding.push_back({integer_from(pair[0], "a width"), integer_from(pair[1], "a width")});
        }
        const Tensor tensor = tensor_from(x);
        const Scalar number =
            required_number(number_in(tensor.dtype(), value.ptr(), call.where()), value, "constant_values");
        return call.result(pad(call.arg(tensor), padding, number));
      },
      nb::arg("x"), nb::arg("pad_width"), nb::arg("constant_values") = 0,
      "x with a number around it: pad_width is a pair (before, after) for each axis.");
  const auto joined = [](Tensor (*join)(TensorList, int, Location), Handle list, int axis) {
    std::vector<Tensor> tensors = tensors_from(list);
    PyTypeObject* type = tensor_type;
    for (const Handle item : list) {
      if (is_tensor(item.ptr())) {
        type = Py_TYPE(item.ptr());
        break;
      }
    }
    const Call call(type);
    if (tensors.empty()) throw_value_error("there are no tensors to join");
    give_one_type(call, tensors);
    return call.result(join(tensors, axis, call.where()));
  };
  for (const char* name : {"concatenate", "concat"}) {
    m.def(
        name, [joined](Handle list, int axis) { return joined(concat, list, axis); }, nb::arg("tensors"),
        nb::arg("axis") = 0, "The tensors one after another along an axis.");
  }
  m.def(
      "stack", [joined](Handle list, int axis) { return joined(stack, list, axis); }, nb::arg("tensors"),
      nb::arg("axis") = 0, "The tensors side by side along an axis of their own.");
  both(
      m, c, "split",
      [](Handle x, Handle parts, int axis) {
        const Call call(x);
        const Tensor tensor = tensor_from(x);
        if (PyIndex_Check(parts.ptr()) != 0 && PySequence_Check(parts.ptr()) == 0)
          return call.results(split(call.arg(tensor), integer_from(parts, "a count"), axis));
        // The places where the parts begin, as the bounds of slices.
        const std::int64_t extent = tensor.size(axis);
        std::vector<std::int64_t> sizes;
        std::int64_t begin = 0;
        for (const Object& part : items_from(parts, "places")) {
          const std::int64_t place = integer_from(part, "a place");
          const std::int64_t end = std::clamp<std::int64_t>(place < 0 ? place + extent : place, 0, extent);
          if (end < begin) throw_value_error("split: places follow one another, and " + repr_of(part) + " does not");
          sizes.push_back(end - begin);
          begin = end;
        }
        sizes.push_back(extent - begin);
        return call.results(split(call.arg(tensor), sizes, axis));
      },
      "The parts of x along an axis: as many equal ones, or those that begin at the given places.", nb::arg("parts"),
      nb::arg("axis") = 0);
}

}  // namespace asyncgrad::python
