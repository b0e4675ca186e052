// The type Tensor: its properties, its gradient, and its conversions to numbers of Python.
#include <nanobind/stl/optional.h>

#include "arrays.h"
#include "call.h"
#include "conversion.h"
#include "custom.h"
#include "dropped_objects.h"
#include "dtypes.h"
#include "errors.h"
#include "indexing.h"
#include "module.h"
#include "operators.h"
#include "tensor.h"

namespace asyncgrad::python {

PyTypeObject* tensor_type = nullptr;

PyObject* new_object(Tensor&& tensor, PyTypeObject* type) {
  release_dropped_objects();
  nb::object object = nb::inst_alloc(reinterpret_cast<PyObject*>(type));
  new (nb::inst_ptr<Tensor>(object)) Tensor(std::move(tensor));
  nb::inst_mark_ready(object);
  return object.release().ptr();
}

namespace {

// Tensors are hashed as objects, as PyTorch's are, because == compares elements.
Py_hash_t hash_of(PyObject* self) noexcept {
  return guarded_number([&] {
    tensor_in(self);  // throws unless it is initialised
    return static_cast<Py_hash_t>(reinterpret_cast<std::uintptr_t>(self) >> 4);
  });
}

// --- Conversions, which wait.
void check_single(const Tensor& x, const char* what) {
  if (x.numel() != 1)
    throw_type_error(std::string("only a tensor with one element can become a ") + what + "; this one has the shape " +
                     x.shape().str());
}
int truth_of(PyObject* self) noexcept {
  return guarded_number([&] {
    const Tensor x = tensor_in(self);
    if (x.numel() != 1)
      throw_value_error("the truth of a tensor with " + std::to_string(x.numel()) +
                        " elements is ambiguous; compare and reduce it first");
    return static_cast<int>(waiting([&] { return x.item(Location()); }) != 0);
  });
}
PyObject* item_object(const Tensor& x) {
  if (is_floating(x.dtype())) return PyFloat_FromDouble(waiting([&] { return x.item(Location()); }));
  if (x.dtype() == int64) return PyLong_FromLongLong(waiting([&] { return x.item<std::int64_t>(Location()); }));
  const double value = waiting([&] { return x.item(Location()); });
  return x.dtype() == boolean ? PyBool_FromLong(value != 0) : PyLong_FromDouble(value);
}
PyObject* as_float(PyObject* self) noexcept {
  return guarded([&] {
    const Tensor x = tensor_in(self);
    check_single(x, "float");
    return PyFloat_FromDouble(waiting([&] { return x.item(Location()); }));
  });
}
PyObject* int_object(const Tensor& x) {
  if (x.dtype() == int64) return PyLong_FromLongLong(waiting([&] { return x.item<std::int64_t>(Location()); }));
  return PyLong_FromDouble(waiting([&] { return x.item(Location()); }));
}
PyObject* as_int(PyObject* self) noexcept {
  return guarded([&] {
    const Tensor x = tensor_in(self);
    check_single(x, "int");
    return int_object(x);
  });
}
PyObject* as_index(PyObject* self) noexcept {
  return guarded([&] {
    const Tensor x = tensor_in(self);
    if (is_floating(x.dtype()) || x.numel() != 1) throw_type_error("only a tensor with one integer can be an index");
    return int_object(x);
  });
}

Py_ssize_t length(PyObject* self) noexcept {
  return guarded_number([&] {
    const Tensor& x = tensor_in(self);
    if (x.rank() == 0) throw_type_error("a tensor without axes has no len(); item() gives its value");
    return static_cast<Py_ssize_t>(x.size(0));
  });
}

// --- For the garbage collector.
int traverse(PyObject* self, visitproc visit, void* arg) noexcept {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? visit_own_functions(*nb::inst_ptr<Tensor>(self), visit, arg) : 0;
}
int clear(PyObject* self) noexcept {
  if (nb::inst_ready(self)) *nb::inst_ptr<Tensor>(self) = Tensor();
  return 0;
}

// Names of the limited API from 3.11 on; the numbers are older.
constexpr int bf_getbuffer = 1, bf_releasebuffer = 2;

// The slots beside those of the operators.
const PyType_Slot slots[] = {
    {Py_nb_bool, reinterpret_cast<void*>(truth_of)},
    {Py_nb_float, reinterpret_cast<void*>(as_float)},
    {Py_nb_int, reinterpret_cast<void*>(as_int)},
    {Py_nb_index, reinterpret_cast<void*>(as_index)},
    {Py_tp_hash, reinterpret_cast<void*>(hash_of)},
    {Py_mp_length, reinterpret_cast<void*>(length)},
    {Py_mp_subscript, reinterpret_cast<void*>(item_of)},
    {Py_mp_ass_subscript, reinterpret_cast<void*>(set_item)},
    {Py_sq_length, reinterpret_cast<void*>(length)},  // of a sequence, for reversed()
    {Py_sq_item, reinterpret_cast<void*>(row_at)},
    {bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
    {bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
};

nb::typed<nb::object, std::optional<Tensor>> grad_of(nb::handle self) {
  Tensor grad = tensor_in(self.ptr()).grad();
  if (!grad.defined()) return nb::none();
  return nb::steal(new_object(std::move(grad), Py_TYPE(self.ptr())));
}

void backward(nb::handle self, nb::handle head, bool retain_graph) {
  const Location where = here();
  const Tensor x = tensor_in(self.ptr());
  if (head.is_none()) return x.backward(retain_graph, where);
  Tensor dy = tensor_from(head);
  if (dy.dtype() != x.dtype()) dy = to(Arg(dy, where), x.dtype());
  x.backward(dy, retain_graph, where);
}

}  // namespace

TensorClass bind_tensor(nb::module_& m) {
  std::vector<PyType_Slot> all_slots = operator_slots();
  all_slots.insert(all_slots.end(), std::begin(slots), std::end(slots));
  all_slots.push_back({0, nullptr});
  TensorClass tensor(m, "Tensor", nb::type_slots(all_slots.data()), nb::is_weak_referenceable(),
                     "An array of values that are computed meanwhile: made by array(), zeros(), randn() and every "
                     "operation. Shape, type and device are known at once, the values later: item(), numpy(), print() "
                     "and wait() wait for them.");
  tensor_type = reinterpret_cast<PyTypeObject*>(tensor.ptr());
  tensor
      .def_prop_ro(
          "shape", [](nb::handle x) { return tuple_of(tensor_in(x.ptr()).shape()); }, "The extents, as a tuple.")
      .def_prop_ro(
          "dtype", [](nb::handle x) { return dtype_object(tensor_in(x.ptr()).dtype()); }, "The element type.")
      .def_prop_ro(
          "device", [](nb::handle x) { return tensor_in(x.ptr()).device().str(); },
          "Where it lives: \"cpu\", \"cpu:1\", ...")
      .def_prop_ro(
          "ndim", [](nb::handle x) { return tensor_in(x.ptr()).rank(); }, "The number of axes.")
      .def_prop_ro(
          "size", [](nb::handle x) { return tensor_in(x.ptr()).numel(); }, "The number of elements.")
      .def_prop_ro(
          "nbytes",
          [](nb::handle x) {
            const Tensor& t = tensor_in(x.ptr());
            return t.numel() * static_cast<std::int64_t>(size_bytes(t.dtype()));
          },
          "The bytes of all elements.")
      .def_prop_ro(
          "itemsize", [](nb::handle x) { return size_bytes(tensor_in(x.ptr()).dtype()); }, "The bytes of an element.")
      .def_prop_rw(
          "requires_grad", [](nb::handle x) { return tensor_in(x.ptr()).requires_grad(); },
          [](nb::handle x, bool wanted) { tensor_in(x.ptr()).requires_grad_(wanted, here()); },
          "Whether backward() computes a gradient for it, or for what it was computed from.")
      .def(
          "requires_grad_",
          [](nb::handle x, bool wanted) -> TensorObject {
            tensor_in(x.ptr()).requires_grad_(wanted, here());
            return nb::borrow(x);
          },
          nb::arg("wanted") = true, "Says whether the gradient of this leaf is wanted, and returns the tensor.")
      .def_prop_ro(
          "is_leaf", [](nb::handle x) { return tensor_in(x.ptr()).is_leaf(); },
          "Whether no recorded operation made it. backward() keeps the gradients of leaves in grad.")
      .def_prop_rw(
          "grad", &grad_of,
          [](nb::handle x, nb::handle value) {
            if (value.is_none()) return tensor_in(x.ptr()).zero_grad();
            const Call call(x);
            tensor_in(x.ptr()).set_grad(call.arg(tensor_from(value)));
          },
          nb::for_setter(nb::arg("value").none()),
          "The gradient so far, or None. Assign None to drop it, or values of its own to a leaf.")
      .def(
          "zero_grad", [](nb::handle x) { tensor_in(x.ptr()).zero_grad(); }, "Drops the gradient.")
      .def("backward", &backward, nb::arg("gradient") = nb::none(),
           nb::arg("retain_graph") = BackwardOptions{}.retain_graph,
           "Queues the computation of the gradients of every leaf that this was computed from, and adds them to their "
           "grad. `gradient` is the gradient of this tensor and has its shape; a single element needs none.")
      .def(
          "detach",
          [](nb::handle x) -> TensorObject {
            return nb::steal(new_object(tensor_in(x.ptr()).detach(), Py_TYPE(x.ptr())));
          },
          "A tensor that shares the values and has no history.")
      .def(
          "detach_",
          [](nb::handle x) -> TensorObject {
            Tensor& tensor = tensor_in(x.ptr());
            tensor = tensor.detach();
            return nb::borrow(x);
          },
          "Makes this tensor a leaf, without what it was computed from, and returns it.")
      .def(
          "wait",
          [](nb::handle self) -> TensorObject {
            const Tensor x = tensor_in(self.ptr());
            waiting([&] { x.wait(Location()); });
            release_dropped_objects();
            return nb::borrow(self);
          },
          "Waits until the values are computed, and returns the tensor.")
      .def(
          "is_ready", [](nb::handle self) { return tensor_in(self.ptr()).is_ready(Location()); },
          "Whether every queued operation that writes the values has finished, so that wait() would return, or raise, "
          "at once. Never waits.")
      .def(
          "item",
          [](nb::handle self) {
            const Tensor x = tensor_in(self.ptr());
            if (x.numel() != 1)
              throw_value_error("item() is for one element, this tensor has the shape " + x.shape().str() +
                                "; numpy() has all of them");
            return nb::steal(item_object(x));
          },
          "The only element as a number of Python. Waits for it.")
      .def("_address", [](nb::handle x) { return reinterpret_cast<std::uintptr_t>(tensor_in(x.ptr()).impl()); });
  tensor.attr("__array_priority__") = 1000;
  return tensor;
}

}  // namespace asyncgrad::python
