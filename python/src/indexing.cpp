// x[key] and x[key] = value. Integers, slices, None and ... are done here, with the library's slices; arrays of indices
// and masks are turned into positions by asyncgrad/_indexing.py.

#include <array>

#include "call.h"
#include "conversion.h"
#include "errors.h"
#include "indexing.h"
#include "module.h"
#include "tensor.h"

namespace asyncgrad::python {

namespace {

// The selection by a key of integers, slices, None and ..., axis by axis.
struct Selection {
  std::vector<Slice> slices;         // ascending; axes that are whole have none
  std::vector<int> flipped;          // axes with a negative step
  std::vector<std::int64_t> result;  // the extents of x[key]
  std::vector<std::int64_t> region;  // those of the elements in x's own axes
};

bool is_basic(PyObject* key) {
  return key == Py_None || key == Py_Ellipsis || PySlice_Check(key) != 0 ||
         (PyLong_Check(key) != 0 && PyBool_Check(key) == 0);
}

std::int64_t row_of(PyObject* key, std::int64_t extent, int axis) {
  int overflow = 0;
  const std::int64_t given = PyLong_AsLongLongAndOverflow(key, &overflow);
  if (overflow != 0) throw_index_error("an index that does not fit into 64 bits is out of bounds");
  if (given < -extent || given >= extent)
    throw_index_error("index " + std::to_string(given) + " is out of bounds for axis " + std::to_string(axis) +
                      " with size " + std::to_string(extent));
  return given < 0 ? given + extent : given;
}

void add_slice(Selection& selection, PyObject* key, std::int64_t extent, int axis) {
  Py_ssize_t begin = 0, end = 0, step = 0;
  if (PySlice_Unpack(key, &begin, &end, &step) < 0) throw nb::python_error();
  const Py_ssize_t count = PySlice_AdjustIndices(static_cast<Py_ssize_t>(extent), &begin, &end, step);
  selection.result.push_back(count);
  selection.region.push_back(count);
  if (count == extent && step == 1) return;
  if (count == 0) {
    selection.slices.push_back({.axis = axis, .begin = 0, .end = 0});
  } else if (step > 0) {
    selection.slices.push_back({.axis = axis, .begin = begin, .end = begin + (count - 1) * step + 1, .step = step});
  } else {
    selection.slices.push_back({.axis = axis, .begin = begin + (count - 1) * step, .end = begin + 1, .step = -step});
    selection.flipped.push_back(axis);
  }
}

// Nothing if the key has arrays in it.
std::optional<Selection> selection_of(const Tensor& x, PyObject* key) {
  std::array<PyObject*, 32> single{key};
  std::span<PyObject*> items(single.data(), 1);
  if (PyTuple_Check(key)) {
    const Py_ssize_t count = PyTuple_Size(key);
    if (count > 32) throw_index_error("too many indices: " + std::to_string(count) + "; a tensor has six axes at most");
    for (Py_ssize_t i = 0; i < count; ++i) single[static_cast<std::size_t>(i)] = PyTuple_GetItem(key, i);
    items = std::span<PyObject*>(single.data(), static_cast<std::size_t>(count));
  }
  int consumed = 0, dots = 0;
  for (PyObject* const item : items) {
    if (!is_basic(item)) return std::nullopt;
    if (item == Py_Ellipsis) ++dots;
    if (item != Py_None && item != Py_Ellipsis) ++consumed;
  }
  if (dots > 1) throw_index_error("an index can only have one ellipsis ('...')");
  if (consumed > x.rank())
    throw_index_error("too many indices: the tensor has " + std::to_string(x.rank()) + " axes, but " +
                      std::to_string(consumed) + " were indexed");
  Selection selection;
  int axis = 0;
  const auto keep_axes = [&](int count) {
    for (; count > 0; --count, ++axis) {
      selection.result.push_back(x.size(axis));
      selection.region.push_back(x.size(axis));
    }
  };
  for (PyObject* const item : items) {
    if (item == Py_None) {
      selection.result.push_back(1);
    } else if (item == Py_Ellipsis) {
      keep_axes(x.rank() - consumed);
    } else if (PySlice_Check(item)) {
      add_slice(selection, item, x.size(axis), axis);
      ++axis;
    } else {
      const std::int64_t row = row_of(item, x.size(axis), axis);
      selection.slices.push_back({.axis = axis, .begin = row, .end = row + 1});
      selection.region.push_back(1);
      ++axis;
    }
  }
  keep_axes(x.rank() - axis);
  return selection;
}

Shape shape_of(const std::vector<std::int64_t>& extents) { return Shape(std::span<const std::int64_t>(extents)); }

Tensor selected(const Call& call, const Tensor& x, const Selection& selection) {
  Tensor result = x;
  for (const Slice& s : selection.slices) result = slice(call.arg(result), s.axis, s.begin, s.end, s.step);
  if (!selection.flipped.empty()) result = flip(call.arg(result), axes_of(selection.flipped));
  const Shape shape = shape_of(selection.result);
  if (result.shape() == shape && result.impl() != x.impl()) return result;
  return reshape(call.arg(result), shape);
}

nb::object indexing_function(const char* name) { return nb::module_::import_("asyncgrad._indexing").attr(name); }

// The value with the shape of x[key], from which the axes of extent 1 that stand before are taken away.
Tensor fitted(const Call& call, Tensor value, const Shape& shape) {
  while (value.rank() > shape.rank() && value.size(0) == 1) value = squeeze(call.arg(value), 0);
  return value.shape() == shape ? value : expand(call.arg(value), shape);
}

// A number as NumPy writes it into a tensor: integers lose its fraction, and bool is whether it differs from 0.
Scalar element_of(const Call& call, const Scalar& number, DType dtype) {
  if (dtype == boolean) return call.scalar(std::int64_t{number.as_double() != 0});
  return number.is_integer() || is_floating(dtype) ? number : call.scalar(whole_part(number.as_double()));
}

void assign_selected(const Call& call, const Tensor& x, const Selection& selection, PyObject* object) {
  if (const auto number = number_in(x.dtype(), object, call.where()))
    return assign(x, selection.slices, element_of(call, *number, x.dtype()));
  Tensor value = tensor_beside(x, object);
  if (value.device() != x.device()) value = to(call.arg(value), x.device());
  if (value.dtype() != x.dtype()) value = to(call.arg(value), x.dtype());
  value = fitted(call, value, shape_of(selection.result));
  value = reshape(call.arg(value), shape_of(selection.region));
  if (!selection.flipped.empty()) value = flip(call.arg(value), axes_of(selection.flipped));
  assign(x, selection.slices, call.arg(value));
}

}  // namespace

PyObject* item_of(PyObject* self, PyObject* key) noexcept {
  return guarded([&]() -> PyObject* {
    const Call call(Py_TYPE(self));
    const Tensor& x = tensor_in(self);
    const auto selection = selection_of(x, key);
    if (!selection) return indexing_function("get")(nb::handle(self), nb::handle(key)).release().ptr();
    return new_object(selected(call, x, *selection), Py_TYPE(self));
  });
}

int set_item(PyObject* self, PyObject* key, PyObject* value) noexcept {
  return guarded_number([&] {
    if (value == nullptr) throw_type_error("elements of a tensor cannot be deleted");
    const Call call(Py_TYPE(self));
    const Tensor& x = tensor_in(self);
    if (const auto selection = selection_of(x, key)) {
      assign_selected(call, x, *selection, value);
    } else {
      indexing_function("set")(nb::handle(self), nb::handle(key), nb::handle(value));
    }
    return 0;
  });
}

// For iteration: row after row, until there is none.
PyObject* row_at(PyObject* self, Py_ssize_t row) {
  return guarded([&] {
    const Call call(Py_TYPE(self));
    const Tensor& x = tensor_in(self);
    if (x.rank() == 0) throw_type_error("a tensor without axes cannot be iterated; item() gives its value");
    if (row < 0 || row >= x.size(0)) throw_index_error("row " + std::to_string(row));
    return new_object(x[RowIndex(row, call.where())], Py_TYPE(self));
  });
}

void bind_indexing(nb::module_& m) {
  m.def(
      "_put",
      [](nb::handle x, nb::handle indices, nb::handle values) {
        const Call call(x);
        put(tensor_in(x.ptr()), call.arg(tensor_in(indices.ptr())), call.arg(tensor_in(values.ptr())));
      },
      "Writes the values at the indices of the flattened tensor; where indices are equal, the last one stays.");
}

}  // namespace asyncgrad::python
