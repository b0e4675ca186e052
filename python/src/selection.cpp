// Functions that select elements: by indices, by a mask, by bounds.
#include "array_checks.h"
#include "asyncgrad/core/call_site.h"
#include "asyncgrad/core/checks.h"
#include "call.h"
#include "conversion.h"
#include "dtypes.h"
#include "errors.h"
#include "functions.h"
#include "module.h"
#include "tensor.h"
#include "tensor_classes.h"

namespace asyncgrad::python {

namespace {

// Which elements are not 0, as bool.
Tensor truth_of(const Call& call, const Tensor& x) {
  if (x.dtype() == boolean) return x;
  return not_equal(call.arg(in_type(call, x, comparable(x.dtype()))), call.scalar(std::int64_t{0}));
}

// In the type in which it is computed, and back.
Tensor computed_in(const Call& call, const Tensor& x) {
  return in_type(call, x, x.dtype() == boolean ? int64 : comparable(x.dtype()));
}

// Indices of an axis of x. The values of a list, a number or an array are known, so one that is outside is refused here;
// those of a tensor are read by the operation alone. An axis that x does not have is left to the operation.
Tensor indices_from(const Call& call, const char* operation, Handle given, std::int64_t extent, const char* what) {
  if (is_tensor(given.ptr())) return tensor_in(given.ptr());
  const Object array = numpy().attr("asarray")(given);
  const std::string kind = text_of(array.attr("dtype").attr("kind"));
  if ((kind == "i" || kind == "u") && integer_from(array.attr("size"), "a size") > 0) {
    const auto is_outside = [extent](const Object& index) {
      const std::int64_t value = integer_from(index, "an index");
      return value < 0 || value >= extent;
    };
    if (is_outside(array.attr("min")()) || is_outside(array.attr("max")())) {
      const Object all = array.attr("ravel")();
      std::int64_t position = 0;
      while (!is_outside(all[nb::int_(position)])) ++position;
      const CallSite site(call.where());
      throw_outside(operation, "index", integer_from(all[nb::int_(position)], "an index"), position, extent, what);
    }
  }
  return tensor_from(given);
}
Tensor indices_along(const Call& call, const char* operation, const Tensor& x, int axis, Handle given) {
  if (axis < -x.rank() || axis >= x.rank()) return tensor_from(given);
  return indices_from(call, operation, given, x.size(axis), "rows");
}

using TensorPair = nb::typed<nb::tuple, Tensor, Tensor>;
using ThreeTensors = nb::typed<nb::tuple, Tensor, Tensor, Tensor>;

TensorPair pair_of(const Call& call, SortResult sorted, DType dtype) {
  return nb::make_tuple(call.result(in_type(call, sorted.values, dtype)), call.result(std::move(sorted.indices)));
}

void bind_order(nb::module_& m, TensorClass& c) {
  const SortOptions unchanged;
  both(
      m, c, "argsort",
      [](Handle x, int axis, bool descending) {
        const Call call(x);
        return call.result(
            argsort(call.arg(computed_in(call, tensor_from(x))), {.axis = axis, .descending = descending}));
      },
      "The places of the elements in their order, in int64. NaN counts as the largest, and equal elements stay in "
      "their order.",
      nb::arg("axis") = unchanged.axis, nb::arg("descending") = unchanged.descending);
  both(
      m, c, "sort",
      [](Handle x, int axis, bool descending) {
        const Call call(x);
        const Tensor tensor = tensor_from(x);
        return pair_of(call, sort(call.arg(computed_in(call, tensor)), {.axis = axis, .descending = descending}),
                       tensor.dtype());
      },
      "(values, indices): the elements in the order of argsort(), and their places.", nb::arg("axis") = unchanged.axis,
      nb::arg("descending") = unchanged.descending);
  both(
      m, c, "topk",
      [](Handle x, std::int64_t count, int axis, bool largest) {
        const Call call(x);
        const Tensor tensor = tensor_from(x);
        return pair_of(call, topk(call.arg(computed_in(call, tensor)), count, {.axis = axis, .largest = largest}),
                       tensor.dtype());
      },
      "(values, indices) of the `count` largest or smallest elements of an axis, in their order.", nb::arg("count"),
      nb::arg("axis") = TopkOptions{}.axis, nb::arg("largest") = TopkOptions{}.largest);
}

void bind_chosen_by_value(nb::module_& m, TensorClass& c) {
  both(
      m, c, "nonzero",
      [](Handle x) {
        const Call call(x);
        return call.result(nonzero(call.arg(truth_of(call, tensor_from(x)))));
      },
      "The indices (n, K) of the elements that are not 0. Waits for x.");
  both(
      m, c, "masked_select",
      [](Handle x, Handle mask) {
        const Call call(x);
        return call.result(masked_select(call.arg(tensor_from(x)), call.arg(truth_of(call, tensor_from(mask)))));
      },
      "The elements (n) where the mask is not 0, in row-major order. Waits for the mask.", nb::arg("mask"));
  both(
      m, c, "unique",
      [](Handle x) -> ThreeTensors {
        const Call call(x);
        const Tensor tensor = tensor_from(x);
        UniqueResult parts = unique(call.arg(computed_in(call, tensor)));
        return nb::make_tuple(call.result(in_type(call, parts.values, tensor.dtype())),
                              call.result(std::move(parts.inverse)), call.result(std::move(parts.counts)));
      },
      "(values, inverse, counts): the different elements, ascending, where each element of x is among them, and how "
      "often each is there. Waits for x.");
}

}  // namespace

void bind_selection(nb::module_& m, TensorClass& c) {
  both(
      m, c, "take",
      [](Handle x, Handle indices, int axis) {
        const Call call(x);
        const Tensor tensor = tensor_from(x);
        Tensor places = indices_along(call, "take", tensor, axis, indices);
        if (is_floating(places.dtype()) && !rules_of(Py_TYPE(indices.ptr())).takes_floating_indices)
          throw_type_error("indices are integers, not " + std::string(name(places.dtype())) +
                           "; to(\"int64\") converts them");
        if (is_floating(places.dtype()) || places.dtype() == boolean) places = in_type(call, places, int64);
        return call.result(take(call.arg(tensor), call.arg(places), axis));
      },
      "The elements of an axis at the indices, which have any shape and are not negative.", nb::arg("indices"),
      nb::arg("axis") = 0);
  for (const char* name : {"take_along_axis", "gather"}) {
    both(
        m, c, name,
        [](Handle x, Handle indices, int axis) {
          const Call call(x);
          const Tensor tensor = tensor_from(x), places = indices_along(call, "gather", tensor, axis, indices);
          return call.result(gather(call.arg(tensor), call.arg(places), axis));
        },
        "For each index the element of the axis beside it.", nb::arg("indices"), nb::arg("axis"));
  }
  both(
      m, c, "scatter_add",
      [](Handle x, Handle indices, Handle source, int axis) {
        const Call call(x);
        const Tensor tensor = tensor_from(x), places = indices_along(call, "scatter_add", tensor, axis, indices);
        return call.result(scatter_add(call.arg(tensor), call.arg(places), call.arg(tensor_from(source)), axis));
      },
      "x with `source` added at the indices.", nb::arg("indices"), nb::arg("source"), nb::arg("axis"));
  both(
      m, c, "index_add",
      [](Handle x, Handle indices, Handle source, int axis) {
        const Call call(x);
        const Tensor tensor = tensor_from(x), places = indices_along(call, "index_add", tensor, axis, indices);
        return call.result(index_add(call.arg(tensor), call.arg(places), call.arg(tensor_from(source)), axis));
      },
      "x with the elements of `source` along an axis added at the indices (K).", nb::arg("indices"), nb::arg("source"),
      nb::arg("axis"));
  bind_order(m, c);
  bind_chosen_by_value(m, c);
  const auto of_one_index = [](Handle indices, std::int64_t classes, Handle dtype) {
    const Call call(indices);
    const DType made = dtype.is_none() ? default_dtype() : dtype_from(dtype);
    const Tensor places =
        classes < 1 ? tensor_from(indices) : indices_from(call, "one_hot", indices, classes, "classes");
    return call.result(one_hot(call.arg(places), classes, made));
  };
  constexpr const char* doc = "1 at the index, else 0: (...) -> (..., classes).";
  m.def("one_hot", of_one_index, nb::arg("indices"), nb::arg("classes"), nb::arg("dtype") = nb::none(), doc);
  c.def("one_hot", of_one_index, nb::arg("classes"), nb::arg("dtype") = nb::none(), doc);
  m.def(
      "ravel_multi_index",
      [](Handle indices, Handle shape) {
        const Call call(indices);
        return call.result(ravel_multi_index(tensors_from(indices), shape_from(shape), call.where()));
      },
      nb::arg("indices"), nb::arg("shape"),
      "The places of elements in a tensor of a shape, from their indices along each axis: tensors, which are "
      "broadcast. "
      "Negative indices count from the end.");
  both(
      m, c, "masked_fill",
      [](Handle x, Handle mask, Handle value) {
        const Call call(x);
        const Tensor tensor = tensor_from(x), within = in_type(call, tensor, comparable(tensor.dtype()));
        const Scalar number = required_number(number_in(tensor.dtype(), value.ptr(), call.where()), value, "value");
        check_holds_number(number, tensor.dtype(), "masked_fill");
        const Tensor result = masked_fill(call.arg(within), call.arg(truth_of(call, tensor_from(mask))), number);
        return call.result(in_type(call, result, tensor.dtype()));
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
        const Handle first = is_tensor(x.ptr()) ? x : is_tensor(y.ptr()) ? y : condition;
        const Call call(first);
        const Tensor beside = tensor_from(first);
        Tensor a = tensor_beside(beside, x), b = tensor_beside(beside, y);
        const auto a_number = number_beside(b.dtype(), x.ptr(), call.where());
        const auto b_number = number_beside(a.dtype(), y.ptr(), call.where());
        const Tensor truth = tensor_beside(beside, condition);
        DType dtype = call.promoted(a.dtype(), b.dtype());
        if (a_number && b_number) dtype = kept(a.dtype(), b.dtype());
        if (a_number && !b_number) dtype = call.promoted(b.dtype(), *a_number);
        if (b_number && !a_number) dtype = call.promoted(a.dtype(), *b_number);
        a = in_type(call, a, comparable(dtype));
        b = in_type(call, b, comparable(dtype));
        return call.result(in_type(call, where(call.arg(truth_of(call, truth)), call.arg(a), call.arg(b)), dtype));
      },
      nb::arg("condition"), nb::arg("x"), nb::arg("y"), "x where the condition is not 0, else y.");
  both(
      m, c, "clip",
      [](Handle x, Handle low, Handle high) {
        const Call call(x);
        const Tensor tensor = tensor_from(x);
        DType dtype = tensor.dtype();
        const auto given = [&](Handle value) -> std::optional<Scalar> {
          if (value.is_none()) return std::nullopt;
          const auto number = number_in(tensor.dtype(), value.ptr(), call.where());
          if (!number) throw_type_error("the bounds must be numbers, got " + repr_of(value));
          dtype = call.promoted(dtype, *number);
          return number;
        };
        const auto least = given(low), most = given(high);
        if (!least && !most) return call.result(clone(call.arg(tensor)));
        const auto bound = [&](const std::optional<Scalar>& number, auto of_floats, auto of_integers) {
          if (number) return call.number(*number, dtype);
          return is_floating(dtype) ? call.scalar(of_floats) : call.scalar(of_integers);
        };
        using Floats = std::numeric_limits<double>;
        using Integers = std::numeric_limits<std::int64_t>;
        const Tensor result =
            clip(call.arg(in_type(call, tensor, comparable(dtype))), bound(least, -Floats::infinity(), Integers::min()),
                 bound(most, Floats::infinity(), Integers::max()));
        return call.result(in_type(call, result, dtype));
      },
      "x, or the bound that it is beyond.", nb::arg("min") = nb::none(), nb::arg("max") = nb::none());
}

}  // namespace asyncgrad::python
