// Functions that reduce axes or go along one: sums, extremes, cumulative sums, softmax.
#include "call.h"
#include "conversion.h"
#include "dtypes.h"
#include "functions.h"
#include "module.h"
#include "tensor.h"

namespace asyncgrad::python {

namespace {

struct Reduction {
  const char* name;
  Tensor (*all)(const Arg&);
  Tensor (*axes)(const Arg&, const Axes&, bool);
  bool is_floating;
  const char* doc;
  bool compares = false;
  bool keeps_type = false;
  bool counts = false;  // it takes bool though its result is floating
};

constexpr Reduction reductions[] = {
    {"sum", sum, sum, false, "The sum over all elements, or over axes, which are dropped or kept with extent 1."},
    {"mean", mean, mean, true, "The mean over all elements, or over axes, which are dropped or kept with extent 1.",
     false, false, true},
    {"prod", prod, prod, false,
     "The product of all elements, or over axes, which are dropped or kept with extent 1; 1 without elements."},
    {"max", max, max, false, "The largest element of all, or over axes; NaN if there is one.", false, true},
    {"min", min, min, false, "The smallest element of all, or over axes; NaN if there is one.", false, true},
    {"any", any, any, false, "Whether an element of all, or over axes, is not 0, as bool.", true},
    {"all", all, all, false, "Whether no element of all, or over axes, is 0, as bool.", true},
    {"norm", norm, norm, true, "sqrt(sum(x^2)) over all elements, or over axes."},
    {"logsumexp", logsumexp, logsumexp, true, "log(sum(e^x)) over all elements, or over axes."},
};

// The extremes of bool are `any` and `all`, unless there are no elements, of which the other types know no extreme.
const Reduction& row_for(const Reduction& row, const Tensor& x) {
  static constexpr Reduction of_bool[] = {{"max", any, any, false, "", true}, {"min", all, all, false, "", true}};
  for (const Reduction& other : of_bool) {
    if (x.dtype() == boolean && x.numel() != 0 && std::string_view(row.name) == other.name) return other;
  }
  return row;
}

// Over no axes each element is a result of its own.
Tensor of_each_element(const Call& call, const Reduction& row, const Tensor& x) {
  if (row.compares) return not_equal(call.arg(x), call.scalar(std::int64_t{0}));
  if (std::string_view(row.name) == "norm") return abs(call.arg(x));
  return x.dtype() == boolean ? to(call.arg(x), int64) : clone(call.arg(x));
}

// Narrow integers are reduced in int64, as NumPy sums them, and bfloat16 in float32.
Tensor reduced(const Call& call, const Reduction& row, const Tensor& given, Handle axis, bool keepdims) {
  const std::vector<int> axes = axes_or_all(axis, given.rank());
  const bool is_counted = row.counts && given.dtype() == boolean && !axes.empty();
  DType dtype = comparable(row.is_floating && !is_counted ? floating_of(given.dtype()) : given.dtype());
  if (row.keeps_type && dtype == boolean) dtype = int64;  // there are no elements
  const Tensor x = in_type(call, given, dtype);
  if (axis.is_none() && (!keepdims || x.rank() == 0)) return row.all(call.arg(x));
  if (!axes.empty()) return row.axes(call.arg(x), axes_of(axes), keepdims);
  return of_each_element(call, row, x);
}

TensorObject reduce(const Reduction& given, Handle x, Handle axis, bool keepdims) {
  const Call call(x);
  const Tensor tensor = tensor_from(x);
  const Reduction& row = row_for(given, tensor);
  const Tensor result = reduced(call, row, tensor, axis, keepdims);
  return call.result(row.keeps_type ? in_type(call, result, tensor.dtype()) : Tensor(result));
}

}  // namespace

void bind_reductions(nb::module_& m, TensorClass& c) {
  for (const Reduction& row : reductions) {
    const auto function = [row = &row](Handle x, Handle axis, bool keepdims) {
      return reduce(*row, x, axis, keepdims);
    };
    both(m, c, row.name, function, row.doc, nb::arg("axis") = nb::none(), nb::arg("keepdims") = false);
  }
  const auto var = [](Handle x, Handle axis, double ddof, bool keepdims) {
    const Call call(x);
    Tensor tensor = tensor_from(x);
    tensor = in_type(call, tensor, comparable(floating_of(tensor.dtype())));
    return call.result(variance(call.arg(tensor), axes_of(axes_or_all(axis, tensor.rank())), keepdims, ddof));
  };
  const char* const doc = "The sum of (x - mean)^2 divided by n - ddof, over all n elements or those of axes.";
  both(m, c, "var", var, doc, nb::arg("axis") = nb::none(), nb::arg("ddof") = 0.0, nb::arg("keepdims") = false);
  const auto extremum = [](Tensor (*all)(const Arg&), Tensor (*along)(const Arg&, int, bool), Handle x, Handle axis,
                           bool keepdims) {
    const Call call(x);
    Tensor tensor = tensor_from(x);
    tensor = in_type(call, tensor, tensor.dtype() == boolean ? int64 : comparable(tensor.dtype()));
    if (axis.is_none()) {
      const Tensor index = all(call.arg(tensor));
      const std::vector<std::int64_t> ones(keepdims ? static_cast<std::size_t>(tensor.rank()) : 0, 1);
      return call.result(ones.empty() ? Tensor(index) : reshape(call.arg(index), Shape(std::span(ones))));
    }
    return call.result(along(call.arg(tensor), axis_from(axis), keepdims));
  };
  both(
      m, c, "argmax",
      [extremum](Handle x, Handle axis, bool keepdims) { return extremum(argmax, argmax, x, axis, keepdims); },
      "The index of the first largest element, in int64.", nb::arg("axis") = nb::none(), nb::arg("keepdims") = false);
  both(
      m, c, "argmin",
      [extremum](Handle x, Handle axis, bool keepdims) { return extremum(argmin, argmin, x, axis, keepdims); },
      "The index of the first smallest element, in int64.", nb::arg("axis") = nb::none(), nb::arg("keepdims") = false);
  both(
      m, c, "cumsum",
      [](Handle x, Handle axis) {
        const Call call(x);
        Tensor tensor = tensor_from(x);
        tensor = in_type(call, tensor, comparable(tensor.dtype()));
        if (axis.is_none()) {
          tensor = reshape(call.arg(tensor), Shape{tensor.numel()});
          return call.result(cumsum(call.arg(tensor), 0));
        }
        return call.result(cumsum(call.arg(tensor), axis_from(axis)));
      },
      "The sums of the elements up to each, along an axis or, with None, of all in order; int64 for narrower integers.",
      nb::arg("axis") = nb::none());
  struct Softmax {
    const char* name;
    Tensor (*function)(const Arg&, int);
    const char* doc;
  };
  for (const Softmax& row :
       {Softmax{"softmax", softmax, "e^x / sum(e^x) along an axis."},
        Softmax{"log_softmax", log_softmax, "The logarithm of softmax(), accurate where that is near 0."}}) {
    both(
        m, c, row.name,
        [function = row.function](Handle x, int axis) {
          const Call call(x);
          const Tensor tensor = tensor_from(x);
          const DType dtype = tensor.dtype();
          const Tensor within = is_floating(dtype) ? in_type(call, tensor, comparable(dtype)) : tensor;
          return call.result(in_type(call, function(call.arg(within), axis), dtype));
        },
        row.doc, nb::arg("axis") = -1);
  }
  m.def(
      "reduce_add",
      [](Handle inputs, Handle device) {
        const Call call(tensor_type);
        return call.result(reduce_add(tensors_from(inputs), device_from(device), call.where()));
      },
      nb::arg("inputs"), nb::arg("device"), "The sum, on a device, of tensors that lie on any devices.");
}

}  // namespace asyncgrad::python
