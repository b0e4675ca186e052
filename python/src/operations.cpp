// The functions of docs/operations.md, by tables where they are alike. Each is a function of the module and, if it has
// a tensor as its first parameter, a method.
#include <nanobind/stl/vector.h>

#include "binding.h"

namespace asyncgrad::python {

namespace {

using Handle = nb::handle;
using Object = nb::object;

// Defines a function of the module and a method, whose parameters after the tensor are `extra`.
template <class Function, class... Extra>
void both(nb::module_& m, TensorClass& c, const char* name, Function function, const char* doc, const Extra&... extra) {
  m.def(name, function, nb::arg("x"), extra..., doc);
  c.def(name, function, extra..., doc);
}

Tensor in_type(const Call& call, const Tensor& x, DType dtype) {
  return x.dtype() == dtype ? x : to(call.arg(x), dtype);
}

// --- Of one tensor.

struct Unary {
  const char* name;
  Tensor (*function)(const Arg&);
  bool is_floating;  // integers become float64 first
  const char* doc;
  bool compares = false;  // as bool, of every type
};

constexpr Unary unary[] = {
    {"relu", relu, false, "max(x, 0)"},
    {"sigmoid", sigmoid, true, "1 / (1 + e^-x)"},
    {"tanh", tanh, true, "The hyperbolic tangent."},
    {"exp", exp, true, "e^x"},
    {"log", log, true, "The natural logarithm."},
    {"square", square, false, "x^2"},
    {"sqrt", sqrt, true, "The square root."},
    {"abs", abs, false, "The absolute value."},
    {"rsqrt", rsqrt, true, "1 / sqrt(x)"},
    {"sin", sin, true, "The sine of x in radians."},
    {"cos", cos, true, "The cosine of x in radians."},
    {"erf", erf, true, "The error function."},
    {"log1p", log1p, true, "log(1 + x), accurate near 0."},
    {"expm1", expm1, true, "e^x - 1, accurate near 0."},
    {"silu", silu, true, "x sigmoid(x)"},
    {"softplus", softplus, true, "log(1 + e^x)"},
    {"gelu", gelu, true, "x (1 + erf(x / sqrt(2))) / 2"},
    {"gelu_tanh", gelu_tanh, true, "gelu's approximation by tanh."},
    {"floor", floor, false, "The largest integer that is at most x. No gradient."},
    {"isnan", isnan, false, "Whether it is NaN, as bool.", true},
    {"isfinite", isfinite, false, "Whether it is neither infinite nor NaN, as bool.", true},
    {"logical_not", logical_not, false, "Whether it is 0, as bool.", true},
    {"round", round, false, "The nearest integer, halves to the even one. No gradient."},
    {"sign", sign, false, "-1, 0 or 1. No gradient."},
};

void bind_unary(nb::module_& m, TensorClass& c) {
  for (const Unary& row : unary) {
    const auto function = [row = &row](Handle x) {
      const Call call(x);
      const Tensor tensor = tensor_from(x);
      DType dtype = tensor.dtype();
      if (row->is_floating) dtype = floating_of(dtype);
      if (row->compares) dtype = comparable(dtype);
      return call.result(row->function(call.arg(in_type(call, tensor, dtype))));
    };
    both(m, c, row.name, function, row.doc);
  }
}

// --- Of two tensors, or a tensor and a number.

struct Binary {
  const char* name;
  Tensor (*tensors)(const Arg&, const Arg&);
  Tensor (*number)(const Arg&, const Scalar&);  // null: a number becomes a tensor
  bool is_floating;
  const char* doc;
  bool compares = false;
};

DType operand_type(const Binary& row, DType dtype) {
  if (row.is_floating) return floating_of(dtype);
  return row.compares ? comparable(dtype) : dtype;
}

constexpr Binary binary[] = {
    {"maximum", maximum, maximum, false, "The larger one of x and y, broadcast against each other."},
    {"minimum", minimum, minimum, false, "The smaller one of x and y, broadcast against each other."},
    {"pow", pow, pow, true, "x^y"},
    {"equal", equal, equal, false, "Whether x = y, as bool.", true},
    {"not_equal", not_equal, not_equal, false, "Whether x and y differ, as bool.", true},
    {"less", less, less, false, "Whether x < y, as bool.", true},
    {"less_equal", less_equal, less_equal, false, "Whether x <= y, as bool.", true},
    {"greater", greater, greater, false, "Whether x > y, as bool.", true},
    {"greater_equal", greater_equal, greater_equal, false, "Whether x >= y, as bool.", true},
    {"logical_and", logical_and, nullptr, false, "Whether neither is 0, as bool.", true},
    {"logical_or", logical_or, nullptr, false, "Whether not both are 0, as bool.", true},
    {"logical_xor", logical_xor, nullptr, false, "Whether one of them is 0, as bool.", true},
};

Object call_binary(const Binary& row, Handle x, Handle y) {
  const bool is_swapped = !is_tensor(x.ptr()) && is_tensor(y.ptr());
  const Call call(is_swapped ? y : x);
  Tensor a = tensor_from(x);
  const auto number = number_from(y.ptr(), call.where());
  if (number && row.number != nullptr) {
    a = in_type(call, a, operand_type(row, promoted(a.dtype(), *number)));
    return call.result(row.number(call.arg(a), *number));
  }
  Tensor b = tensor_from(y);
  DType dtype = promoted(a.dtype(), b.dtype());
  // A number of Python takes the tensor's type.
  if (number_from(x.ptr(), call.where()))
    dtype = is_floating(a.dtype()) && !is_floating(b.dtype()) ? float64 : b.dtype();
  dtype = operand_type(row, dtype);
  a = in_type(call, a, dtype);
  b = in_type(call, b, dtype);
  return call.result(row.tensors(call.arg(a), call.arg(b)));
}

void bind_binary(nb::module_& m, TensorClass& c) {
  for (const Binary& row : binary) {
    both(
        m, c, row.name, [row = &row](Handle x, Handle y) { return call_binary(*row, x, y); }, row.doc, nb::arg("y"));
  }
}

// --- Reductions.

struct Reduction {
  const char* name;
  Tensor (*all)(const Arg&);
  Tensor (*axes)(const Arg&, const Axes&, bool);
  bool is_floating;
  const char* doc;
  bool compares = false;
  bool keeps_type = false;
};

constexpr Reduction reductions[] = {
    {"sum", sum, sum, false, "The sum over all elements, or over axes, which are dropped or kept with extent 1."},
    {"mean", mean, mean, true, "The mean over all elements, or over axes, which are dropped or kept with extent 1."},
    {"max", max, max, false, "The largest element of all, or over axes; NaN if there is one.", false, true},
    {"min", min, min, false, "The smallest element of all, or over axes; NaN if there is one.", false, true},
    {"any", any, any, false, "Whether an element of all, or over axes, is not 0, as bool.", true},
    {"all", all, all, false, "Whether no element of all, or over axes, is 0, as bool.", true},
    {"norm", norm, norm, true, "sqrt(sum(x^2)) over all elements, or over axes."},
    {"logsumexp", logsumexp, logsumexp, true, "log(sum(e^x)) over all elements, or over axes."},
};

// The extremes of bool are `any` and `all`.
const Reduction& row_for(const Reduction& row, DType dtype) {
  static constexpr Reduction of_bool[] = {{"max", any, any, false, "", true}, {"min", all, all, false, "", true}};
  for (const Reduction& other : of_bool) {
    if (dtype == boolean && std::string_view(row.name) == other.name) return other;
  }
  return row;
}

// Narrow integers are reduced in int64, as NumPy sums them.
Tensor reduced(const Call& call, const Reduction& row, const Tensor& given, Handle axis, bool keepdims) {
  const Tensor x = in_type(call, given, row.is_floating ? floating_of(given.dtype()) : comparable(given.dtype()));
  std::vector<int> every;
  for (int i = 0; i < x.rank(); ++i) every.push_back(i);
  const std::vector<int> axes = axes_from(axis).value_or(every);
  if (axis.is_none() && (!keepdims || x.rank() == 0)) return row.all(call.arg(x));
  if (!axes.empty()) return row.axes(call.arg(x), axes_of(axes), keepdims);
  return row.compares ? not_equal(call.arg(x), call.scalar(std::int64_t{0})) : x;
}

Object reduce(const Reduction& given, Handle x, Handle axis, bool keepdims) {
  const Call call(x);
  const Tensor tensor = tensor_from(x);
  const Reduction& row = row_for(given, tensor.dtype());
  const Tensor result = reduced(call, row, tensor, axis, keepdims);
  return call.result(row.keeps_type ? in_type(call, result, tensor.dtype()) : Tensor(result));
}

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
    tensor = in_type(call, tensor, floating_of(tensor.dtype()));
    auto axes = axes_from(axis);
    if (!axes) {
      axes.emplace();
      for (int i = 0; i < tensor.rank(); ++i) axes->push_back(i);
    }
    return call.result(variance(call.arg(tensor), axes_of(*axes), keepdims, ddof));
  };
  const char* const doc = "The sum of (x - mean)^2 divided by n - ddof, over all elements or over axes.";
  both(m, c, "var", var, doc, nb::arg("axis") = nb::none(), nb::arg("ddof") = 0.0, nb::arg("keepdims") = false);
  const auto extremum = [](Tensor (*all)(const Arg&), Tensor (*along)(const Arg&, int, bool), Handle x, Handle axis,
                           bool keepdims) {
    const Call call(x);
    Tensor tensor = tensor_from(x);
    tensor = in_type(call, tensor, tensor.dtype() == boolean ? int64 : comparable(tensor.dtype()));
    if (axis.is_none()) return call.result(all(call.arg(tensor)));
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
        if (axis.is_none()) {
          tensor = reshape(call.arg(tensor), Shape{tensor.numel()});
          return call.result(cumsum(call.arg(tensor), 0));
        }
        return call.result(cumsum(call.arg(tensor), axis_from(axis)));
      },
      "The sums of the elements up to each, along an axis or, with None, of all in order.",
      nb::arg("axis") = nb::none());
  for (const auto& [name, function] : {std::pair{"softmax", &softmax}, std::pair{"log_softmax", &log_softmax}}) {
    both(
        m, c, name,
        [function = function](Handle x, int axis) {
          const Call call(x);
          return call.result(function(call.arg(tensor_from(x)), axis));
        },
        "e^x / sum(e^x) along an axis, or its logarithm.", nb::arg("axis") = -1);
  }
}

// --- Shapes.

Object permuted(const Call& call, const Tensor& x, const nb::args& args) {
  std::vector<int> axes;
  if (args.size() == 0 || (args.size() == 1 && args[0].is_none())) {
    for (int i = x.rank() - 1; i >= 0; --i) axes.push_back(i);
  } else {
    axes = *axes_from(args.size() == 1 ? Object(args[0]) : Object(args));
  }
  if (x.rank() <= 1 && axes.size() == static_cast<std::size_t>(x.rank())) {
    for (const int axis : axes) static_cast<void>(x.shape().checked_axis(axis));
    return call.result(Tensor(x));
  }
  return call.result(permute(call.arg(x), axes_of(axes)));
}

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
  c.def("permute", [](Handle x, const nb::args& args) { return permuted(Call(x), tensor_in(x.ptr()), args); });
  c.def_prop_ro(
      "T", [](Handle x) { return permuted(Call(x), tensor_in(x.ptr()), nb::borrow<nb::args>(nb::make_tuple())); },
      "A copy with all axes in the opposite order.");
  both(
      m, c, "swapaxes",
      [](Handle x, int a, int b) {
        const Call call(x);
        const Tensor tensor = tensor_from(x);
        if (tensor.shape().checked_axis(a) == tensor.shape().checked_axis(b)) return call.result(Tensor(tensor));
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
  both(
      m, c, "expand_dims",
      [](Handle x, int axis) {
        const Call call(x);
        return call.result(unsqueeze(call.arg(tensor_from(x)), axis));
      },
      "With one more axis of extent 1. Shares the values.", nb::arg("axis"));
  both(
      m, c, "unsqueeze",
      [](Handle x, int axis) {
        const Call call(x);
        return call.result(unsqueeze(call.arg(tensor_from(x)), axis));
      },
      "With one more axis of extent 1. Shares the values.", nb::arg("axis"));
  both(
      m, c, "flip",
      [](Handle x, Handle axis) {
        const Call call(x);
        const Tensor tensor = tensor_from(x);
        auto axes = axes_from(axis);
        if (!axes) {
          axes.emplace();
          for (int i = 0; i < tensor.rank(); ++i) axes->push_back(i);
        }
        return call.result(flip(call.arg(tensor), axes_of(*axes)));
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
        for (const Handle pair : widths) {
          padding.push_back({integer_from(pair[0], "a width"), integer_from(pair[1], "a width")});
        }
        const auto number = number_from(value.ptr(), call.where());
        if (!number) throw_type_error("what is padded with is a number");
        return call.result(pad(call.arg(tensor_from(x)), padding, *number));
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
    DType dtype = tensors[0].dtype();
    for (const Tensor& tensor : tensors) dtype = promoted(dtype, tensor.dtype());
    for (Tensor& tensor : tensors) tensor = in_type(call, tensor, dtype);
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
        if (PyLong_Check(parts.ptr()))
          return call.results(split(call.arg(tensor), integer_from(parts, "a count"), axis));
        // The places where the parts begin, as in NumPy.
        std::vector<std::int64_t> sizes;
        std::int64_t begin = 0;
        for (const Handle place : parts) {
          const std::int64_t end = integer_from(place, "a place");
          sizes.push_back(end - begin);
          begin = end;
        }
        sizes.push_back(tensor.size(axis) - begin);
        return call.results(split(call.arg(tensor), sizes, axis));
      },
      "The parts of x along an axis: as many equal ones, or those that begin at the given places.", nb::arg("parts"),
      nb::arg("axis") = 0);
}

// --- Selection.

// Which elements are not 0, as bool.
Tensor truth_of(const Call& call, const Tensor& x) {
  if (x.dtype() == boolean) return x;
  return not_equal(call.arg(in_type(call, x, comparable(x.dtype()))), call.scalar(std::int64_t{0}));
}

void bind_selection(nb::module_& m, TensorClass& c) {
  both(
      m, c, "take",
      [](Handle x, Handle indices, int axis) {
        const Call call(x);
        Tensor places = tensor_from(indices);
        if (is_floating(places.dtype()) && Py_TYPE(indices.ptr()) != recorded_type)
          throw_type_error("indices are integers, not " + std::string(name(places.dtype())));
        places = in_type(call, places, int64);
        return call.result(take(call.arg(tensor_from(x)), call.arg(places), axis));
      },
      "The elements of an axis at the indices, which have any shape and are not negative.", nb::arg("indices"),
      nb::arg("axis") = 0);
  both(
      m, c, "take_along_axis",
      [](Handle x, Handle indices, int axis) {
        const Call call(x);
        return call.result(gather(call.arg(tensor_from(x)), call.arg(tensor_from(indices)), axis));
      },
      "For each index the element of the axis beside it.", nb::arg("indices"), nb::arg("axis"));
  both(
      m, c, "gather",
      [](Handle x, Handle indices, int axis) {
        const Call call(x);
        return call.result(gather(call.arg(tensor_from(x)), call.arg(tensor_from(indices)), axis));
      },
      "For each index the element of the axis beside it.", nb::arg("indices"), nb::arg("axis"));
  both(
      m, c, "scatter_add",
      [](Handle x, Handle indices, Handle source, int axis) {
        const Call call(x);
        return call.result(
            scatter_add(call.arg(tensor_from(x)), call.arg(tensor_from(indices)), call.arg(tensor_from(source)), axis));
      },
      "x with `source` added at the indices.", nb::arg("indices"), nb::arg("source"), nb::arg("axis"));
  both(
      m, c, "one_hot",
      [](Handle x, std::int64_t classes, Handle dtype) {
        const Call call(x);
        return call.result(one_hot(call.arg(tensor_from(x)), classes, dtype.is_none() ? float32 : dtype_from(dtype)));
      },
      "1 at the index, else 0: (...) -> (..., classes).", nb::arg("classes"), nb::arg("dtype") = nb::none());
  both(
      m, c, "masked_fill",
      [](Handle x, Handle mask, Handle value) {
        const Call call(x);
        const Tensor tensor = tensor_from(x);
        const auto number = number_from(value.ptr(), call.where());
        if (!number) throw_type_error("what is filled in is a number");
        return call.result(masked_fill(call.arg(tensor), call.arg(truth_of(call, tensor_from(mask))), *number));
      },
      "A number where the mask is not 0, else x.", nb::arg("mask"), nb::arg("value"));
  for (const auto& [name, function] : {std::pair{"tril", &tril}, std::pair{"triu", &triu}}) {
    both(
        m, c, name,
        [function = function](Handle x, std::int64_t k) {
          const Call call(x);
          return call.result(function(call.arg(tensor_from(x)), k));
        },
        "A triangle of the matrices x, 0 elsewhere.", nb::arg("k") = 0);
  }
  m.def(
      "where",
      [](Handle condition, Handle x, Handle y) {
        const Call call(is_tensor(x.ptr()) ? x : is_tensor(y.ptr()) ? y : condition);
        const auto a_number = number_from(x.ptr(), call.where()), b_number = number_from(y.ptr(), call.where());
        Tensor a = tensor_from(x), b = tensor_from(y), truth = tensor_from(condition);
        DType dtype = promoted(a.dtype(), b.dtype());
        if (a_number && !b_number) dtype = promoted(b.dtype(), *a_number);
        if (b_number && !a_number) dtype = promoted(a.dtype(), *b_number);
        a = in_type(call, a, dtype);
        b = in_type(call, b, dtype);
        return call.result(where(call.arg(truth_of(call, truth)), call.arg(a), call.arg(b)));
      },
      nb::arg("condition"), nb::arg("x"), nb::arg("y"), "x where the condition is not 0, else y.");
  both(
      m, c, "clip",
      [](Handle x, Handle low, Handle high) {
        const Call call(x);
        const double infinity = std::numeric_limits<double>::infinity();
        const auto bound = [&](Handle value, double otherwise) {
          if (value.is_none()) return call.scalar(otherwise);
          const auto number = number_from(value.ptr(), call.where());
          if (!number) throw_type_error("a bound is a number");
          return *number;
        };
        return call.result(clip(call.arg(tensor_from(x)), bound(low, -infinity), bound(high, infinity)));
      },
      "x, or the bound that it is beyond.", nb::arg("min") = nb::none(), nb::arg("max") = nb::none());
}

// --- Products and losses.

void bind_products(nb::module_& m, TensorClass& c) {
  const auto product = [](Handle x, Handle w, bool transpose_x, bool transpose_w) {
    const Call call(x);
    return call.result(matmul(call.arg(tensor_from(x)), call.arg(tensor_from(w)),
                              {.transpose_x = transpose_x, .transpose_w = transpose_w}));
  };
  both(m, c, "matmul", product,
       "The matrix product (..., N, I) (..., I, O) -> (..., N, O); operands may be read transposed without a copy.",
       nb::arg("w"), nb::arg("transpose_x") = false, nb::arg("transpose_w") = false);
  m.def(
      "dense",
      [](Handle x, Handle weight, Handle bias, Handle activation) {
        const Call call(x);
        const Tensor offset = bias.is_none() ? Tensor() : tensor_from(bias);
        const bool is_relu = !activation.is_none() && nb::cast<std::string>(nb::str(activation)) == "relu";
        return call.result(dense(call.arg(tensor_from(x)), call.arg(tensor_from(weight)), offset,
                                 is_relu ? Activation(relu) : nullptr));
      },
      nb::arg("x"), nb::arg("weight"), nb::arg("bias") = nb::none(), nb::arg("activation") = nb::none(),
      "activation(x weight + bias): x (N, I), weight (I, O), bias (O) -> (N, O). The activation is None or \"relu\".");
  struct Loss {
    const char* name;
    Tensor (*function)(const Arg&, const Arg&);
    const char* doc;
  };
  static constexpr Loss losses[] = {
      {"l2_loss", nn::l2_loss, "(prediction - label)^2 / 2, averaged over all axes but the first: (N, ...) -> (N)"},
      {"squared_error", nn::squared_error,
       "(prediction - label)^2, averaged over all axes but the first: (N, ...) -> (N)"},
      {"softmax_cross_entropy", nn::softmax_cross_entropy,
       "-log softmax(logits)[label] of each row: logits (N, C), labels (N) int64 -> (N)"},
      {"cross_entropy", cross_entropy,
       "-log softmax(logits)[label] of each row: logits (N, C), labels (N) int64 -> (N)"},
      {"half_squared_error", half_squared_error, "(x - y)^2 / 2 of each element."},
  };
  for (const Loss& row : losses) {
    m.def(
        row.name,
        [row = &row](Handle x, Handle y) {
          const Call call(x);
          return call.result(row->function(call.arg(tensor_from(x)), call.arg(tensor_from(y))));
        },
        nb::arg("prediction"), nb::arg("label"), row.doc);
  }
  m.def(
      "reduce_add",
      [](Handle tensors, Handle device) {
        const Call call(tensor_type);
        return call.result(reduce_add(tensors_from(tensors), device_from(device), call.where()));
      },
      nb::arg("tensors"), nb::arg("device"), "The sum, on a device, of tensors that lie on any devices.");
}

// --- Operations of layers.

void bind_layer_operations(nb::module_& m) {
  const auto given = [](Handle object) { return object.is_none() ? Tensor() : tensor_from(object); };
  m.def(
      "layer_norm",
      [given](Handle x, Handle weight, Handle bias, int axes, double epsilon) {
        const Call call(x);
        return call.result(
            layer_norm(call.arg(tensor_from(x)), given(weight), given(bias), {.axes = axes, .epsilon = epsilon}));
      },
      nb::arg("x"), nb::arg("weight") = nb::none(), nb::arg("bias") = nb::none(), nb::arg("axes") = 1,
      nb::arg("epsilon") = 1e-5, "(x - mean) / sqrt(variance + epsilon) weight + bias over the last axes.");
  m.def(
      "rms_norm",
      [given](Handle x, Handle weight, int axes, double epsilon) {
        const Call call(x);
        return call.result(rms_norm(call.arg(tensor_from(x)), given(weight), {.axes = axes, .epsilon = epsilon}));
      },
      nb::arg("x"), nb::arg("weight") = nb::none(), nb::arg("axes") = 1, nb::arg("epsilon") = 1e-5,
      "x / sqrt(mean of x^2 + epsilon) weight over the last axes.");
  m.def(
      "dropout",
      [](Handle x, double p, Handle from) {
        const Call call(x);
        return call.result(
            dropout(call.arg(tensor_from(x)), p, from.is_none() ? &default_random() : nb::cast<Generator*>(from)));
      },
      nb::arg("x"), nb::arg("p") = 0.5, nb::arg("generator") = nb::none(), "0 with probability p, else x / (1 - p).");
  m.def(
      "scaled_dot_product_attention",
      [given](Handle q, Handle k, Handle v, bool causal, Handle mask, Handle scale) {
        const Call call(q);
        AttentionOptions options{.causal = causal, .mask = given(mask), .scale{}};
        if (!scale.is_none()) options.scale = nb::cast<double>(scale);
        return call.result(scaled_dot_product_attention(call.arg(tensor_from(q)), call.arg(tensor_from(k)),
                                                        call.arg(tensor_from(v)), options));
      },
      nb::arg("q"), nb::arg("k"), nb::arg("v"), nb::arg("causal") = false, nb::arg("mask") = nb::none(),
      nb::arg("scale") = nb::none(), "softmax(scale q k^T + mask) v: (..., T, D), (..., S, D), (..., S, E).");
}

// --- Gradients of several tensors.

std::vector<Tensor> one_or_more(Handle object) {
  if (is_tensor(object.ptr())) return {tensor_in(object.ptr())};
  return tensors_from(object);
}
std::vector<Tensor> head_gradients(Handle object) {
  if (object.is_none()) return {};
  if (is_tensor(object.ptr())) return {tensor_in(object.ptr())};
  std::vector<Tensor> tensors;
  for (const Handle item : object) tensors.push_back(item.is_none() ? Tensor() : tensor_from(item));
  return tensors;
}

void bind_gradients(nb::module_& m, TensorClass& c) {
  c.def(
      "retain_grad", [](Handle x) { tensor_in(x.ptr()).retain_grad(); },
      "From now on backward() keeps the gradient of this result of an operation in grad.");
  m.def(
      "backward",
      [](Handle ys, Handle dys, bool retain_graph) {
        backward(one_or_more(ys), head_gradients(dys), {.retain_graph = retain_graph}, here());
      },
      nb::arg("ys"), nb::arg("dys") = nb::none(), nb::arg("retain_graph") = false,
      "Adds the gradients of the sum of all ys dys to grad of all leaves that the tensors depend on.");
  m.def(
      "grad",
      [](Handle ys, Handle inputs, Handle dys, bool retain_graph, bool create_graph, bool allow_unused) -> Object {
        const bool is_single = is_tensor(inputs.ptr());
        PyTypeObject* const type = is_single ? Py_TYPE(inputs.ptr()) : tensor_type;
        std::vector<Tensor> found =
            grad(one_or_more(ys), one_or_more(inputs), head_gradients(dys),
                 {.retain_graph = retain_graph, .create_graph = create_graph, .allow_unused = allow_unused}, here());
        nb::list results;
        for (Tensor& tensor : found) {
          results.append(tensor.defined() ? nb::steal(new_object(std::move(tensor), type)) : Object(nb::none()));
        }
        return is_single ? Object(results[0]) : Object(results);
      },
      nb::arg("ys"), nb::arg("inputs"), nb::arg("dys") = nb::none(), nb::arg("retain_graph") = false,
      nb::arg("create_graph") = false, nb::arg("allow_unused") = false,
      "The gradients of the sum of all ys dys in the inputs: one for one, a list for a list. With create_graph they "
      "have gradients themselves.");
}

// --- Copies.

void bind_copies(nb::module_& m, TensorClass& c) {
  const auto copied = [](Handle x) {
    const Call call(x);
    return call.result(clone(call.arg(tensor_in(x.ptr()))));
  };
  c.def("clone", copied, "A copy with its own values.");
  c.def("copy", copied, "A copy with its own values.");
  const auto converted = [](Handle x, Handle dtype) {
    const Call call(x);
    return call.result(to(call.arg(tensor_in(x.ptr())), dtype_from(dtype)));
  };
  c.def(
      "astype",
      [converted](Handle x, Handle dtype, bool copy) {
        const DType wanted = dtype_from(dtype);
        if (copy && tensor_in(x.ptr()).dtype() == wanted) {
          const Call call(x);
          return call.result(clone(call.arg(tensor_in(x.ptr()))));
        }
        return converted(x, dtype);
      },
      nb::arg("dtype"), nb::arg("copy") = true, "A copy in another type.");
  c.def(
      "to",
      [converted](Handle x, Handle target, bool, bool copy) {
        const bool is_device = (PyUnicode_Check(target.ptr()) &&
                                [&] {
                                  const auto text = nb::cast<std::string>(nb::str(target));
                                  return text.starts_with("cpu") || text.starts_with("cuda");
                                }()) ||
                               nb::hasattr(target, "_asyncgrad_device");
        if (!is_device) return converted(x, target);
        const Call call(x);
        const Tensor& tensor = tensor_in(x.ptr());
        const Device device = device_from(target);
        return call.result(copy && device == tensor.device() ? clone(call.arg(tensor)) : to(call.arg(tensor), device));
      },
      nb::arg("target"), nb::arg("non_blocking") = true, nb::arg("copy") = false,
      "In another type or on another device; itself if it is so already. Differentiable; never blocks.");
  c.def(
      "copy_",
      [](Handle x, Handle source) {
        const Call call(x);
        Tensor& target = tensor_in(x.ptr());
        target.copy_(call.arg(in_type(call, tensor_from(source), target.dtype())));
        return nb::borrow(x);
      },
      nb::arg("source"), "Writes the source's values here, and returns this tensor.");
  c.def(
      "fill_",
      [](Handle x, Handle value) {
        const Call call(x);
        const auto number = number_from(value.ptr(), call.where());
        if (!number) throw_type_error("a tensor is filled with a number");
        tensor_in(x.ptr()).fill_(*number);
        return nb::borrow(x);
      },
      nb::arg("value"), "Writes a number everywhere, and returns this tensor.");
  m.def(
      "parameter",
      [](Handle x) {
        Tensor tensor = tensor_in(x.ptr());
        return nb::steal(new_object(parameter(std::move(tensor)), Py_TYPE(x.ptr())));
      },
      nb::arg("x"), "The same tensor, made a leaf whose gradient is wanted.");
}

// --- Creation.

DType dtype_or(Handle dtype, DType otherwise) { return dtype.is_none() ? otherwise : dtype_from(dtype); }

void bind_creation(nb::module_& m) {
  nb::class_<Generator>(m, "Generator", "A place in one of 2^64 sequences of random numbers (Philox 4x32-10).")
      .def(nb::init<std::uint64_t, std::uint64_t>(), nb::arg("seed") = 0, nb::arg("place") = 0)
      .def_prop_ro("seed", &Generator::seed)
      .def_prop_ro("place", &Generator::place, "The number of blocks taken so far.")
      .def("_set", [](Generator& g, std::uint64_t seed, std::uint64_t place) { g = Generator(seed, place); });
  m.def(
      "default_generator", [] { return &default_random(); }, nb::rv_policy::reference,
      "The generator that functions use unless they are given another. Any thread may use it.");
  m.def(
      "manual_seed", [](std::uint64_t seed) { default_random() = Generator(seed); }, nb::arg("seed"),
      "Restarts the default generator with this seed.");
  for (const auto& [name, value] : {std::pair{"zeros", 0}, std::pair{"ones", 1}}) {
    m.def(
        name,
        [value = value](const nb::args& shape, Handle dtype, Handle device) {
          const Call call(tensor_type);
          return call.result(full(shape_of_args(shape), call.scalar(std::int64_t{value}),
                                  {.dtype = dtype_or(dtype, float32), .device = device_or_default(device)},
                                  call.where()));
        },
        nb::arg("shape"), nb::kw_only(), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
        "f(2, 3) or f((2, 3)): a new tensor of this shape.");
  }
  m.def(
      "full",
      [](Handle shape, Handle value, Handle dtype, Handle device) {
        const Call call(tensor_type);
        const auto number = number_from(value.ptr(), call.where());
        if (!number) throw_type_error("a tensor is filled with a number");
        const DType natural = PyBool_Check(value.ptr()) ? boolean : number->is_integer() ? int64 : float32;
        return call.result(full(shape_from(shape), *number,
                                {.dtype = dtype_or(dtype, natural), .device = device_or_default(device)},
                                call.where()));
      },
      nb::arg("shape"), nb::arg("value"), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
      "One number everywhere; an integer makes int64, as in NumPy.");
  m.def(
      "arange",
      [](Handle start, Handle stop, Handle step, Handle dtype, Handle device) {
        const Call call(tensor_type);
        const auto read = [&](Handle value) {
          const auto number = number_from(value.ptr(), call.where());
          if (!number) throw_type_error("a bound is a number");
          return *number;
        };
        const Scalar first = stop.is_none() ? call.scalar(std::int64_t{0}) : read(start),
                     last = stop.is_none() ? read(start) : read(stop), by = read(step);
        const DType natural = first.is_integer() && last.is_integer() && by.is_integer() ? int64 : float32;
        return call.result(arange(
            first, last, by, {.dtype = dtype_or(dtype, natural), .device = device_or_default(device)}, call.where()));
      },
      nb::arg("start"), nb::arg("stop") = nb::none(), nb::arg("step") = 1, nb::arg("dtype") = nb::none(),
      nb::arg("device") = nb::none(), "start, start + step, ... below stop; of integers it is int64, else float32.");
  const auto options = [](Handle dtype, Handle device, Handle from) {
    return RandomOptions{.dtype = dtype_or(dtype, float32),
                         .device = device_or_default(device),
                         .generator = from.is_none() ? &default_random() : nb::cast<Generator*>(from)};
  };
  m.def(
      "uniform",
      [options](double low, double high, Handle shape, Handle dtype, Handle device, Handle from) {
        const Call call(tensor_type);
        return call.result(uniform(shape_from(shape), low, high, options(dtype, device, from), call.where()));
      },
      nb::arg("low"), nb::arg("high"), nb::arg("shape"), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
      nb::arg("generator") = nb::none(), "Random numbers in (low, high].");
  m.def(
      "normal",
      [options](double mean, double deviation, Handle shape, Handle dtype, Handle device, Handle from) {
        const Call call(tensor_type);
        return call.result(normal(shape_from(shape), mean, deviation, options(dtype, device, from), call.where()));
      },
      nb::arg("mean"), nb::arg("standard_deviation"), nb::arg("shape"), nb::arg("dtype") = nb::none(),
      nb::arg("device") = nb::none(), nb::arg("generator") = nb::none(), "Random numbers of a normal distribution.");
  m.def(
      "rand",
      [options](const nb::args& shape, Handle dtype, Handle device, Handle from) {
        const Call call(tensor_type);
        return call.result(uniform(shape_of_args(shape), 0, 1, options(dtype, device, from), call.where()));
      },
      nb::arg("shape"), nb::kw_only(), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
      nb::arg("generator") = nb::none(), "Random numbers in (0, 1].");
  m.def(
      "randn",
      [options](const nb::args& shape, Handle dtype, Handle device, Handle from) {
        const Call call(tensor_type);
        return call.result(randn(shape_of_args(shape), options(dtype, device, from), call.where()));
      },
      nb::arg("shape"), nb::kw_only(), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
      nb::arg("generator") = nb::none(), "Random numbers of N(0, 1).");
  const auto generator_or_default = [](Handle from) {
    return from.is_none() ? &default_random() : nb::cast<Generator*>(from);
  };
  m.def(
      "randint",
      [generator_or_default](std::int64_t low, std::int64_t high, Handle shape, Handle dtype, Handle device,
                             Handle from) {
        const Call call(tensor_type);
        return call.result(randint(low, high, shape_from(shape),
                                   {.dtype = dtype_or(dtype, int64),
                                    .device = device_or_default(device),
                                    .generator = generator_or_default(from)},
                                   call.where()));
      },
      nb::arg("low"), nb::arg("high"), nb::arg("shape"), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
      nb::arg("generator") = nb::none(), "Random integers in [low, high).");
  m.def(
      "permutation",
      [generator_or_default](std::int64_t n, Handle dtype, Handle device, Handle from) {
        const Call call(tensor_type);
        return call.result(permutation(n,
                                       {.dtype = dtype_or(dtype, int64),
                                        .device = device_or_default(device),
                                        .generator = generator_or_default(from)},
                                       call.where()));
      },
      nb::arg("n"), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(), nb::arg("generator") = nb::none(),
      "0 ... n - 1 in random order.");
  m.def(
      "bernoulli",
      [generator_or_default](Handle p, Handle shape, Handle dtype, Handle device, Handle from) {
        const Call call = is_tensor(p.ptr()) ? Call(p) : Call(tensor_type);
        if (is_tensor(p.ptr())) {
          if (!shape.is_none() || !dtype.is_none() || !device.is_none())
            throw_value_error("bernoulli() of a tensor has its shape and device, and the type bool");
          return call.result(bernoulli(call.arg(tensor_in(p.ptr())), generator_or_default(from)));
        }
        if (shape.is_none()) throw_value_error("bernoulli() of a number needs a shape");
        return call.result(bernoulli(nb::cast<double>(p), shape_from(shape),
                                     {.dtype = dtype_or(dtype, boolean),
                                      .device = device_or_default(device),
                                      .generator = generator_or_default(from)},
                                     call.where()));
      },
      nb::arg("p"), nb::arg("shape") = nb::none(), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
      nb::arg("generator") = nb::none(),
      "True with probability p, a number or a tensor of them, else False; bool unless `dtype` says otherwise.");
}

}  // namespace

Generator& default_random() {
  static Generator generator;
  return generator;
}

void bind_operations(nb::module_& m, TensorClass& c) {
  bind_unary(m, c);
  bind_binary(m, c);
  bind_reductions(m, c);
  bind_shapes(m, c);
  bind_selection(m, c);
  bind_products(m, c);
  bind_layer_operations(m);
  bind_gradients(m, c);
  bind_copies(m, c);
  bind_creation(m);
}

}  // namespace asyncgrad::python
