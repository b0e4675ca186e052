// The type Tensor: its operators, which are slots, as a slot costs a third of a bound method.

#include <cmath>

#include "binding.h"
#include "dropped_objects.h"
#include "integer_division.h"

namespace asyncgrad::python {

PyTypeObject* tensor_type = nullptr;
PyTypeObject* recorded_type = nullptr;
thread_local bool records_kept = false;

PyObject* new_object(Tensor&& tensor, PyTypeObject* type) {
  release_dropped_objects();
  nb::object object = nb::inst_alloc(reinterpret_cast<PyObject*>(type));
  new (nb::inst_ptr<Tensor>(object)) Tensor(std::move(tensor));
  nb::inst_mark_ready(object);
  return object.release().ptr();
}

nb::object Call::results(std::vector<Tensor>&& tensors) const {
  nb::list list;
  for (Tensor& tensor : tensors) list.append(result(std::move(tensor)));
  return list;
}

namespace {

// An operand of an operator that is no tensor: a number, or an array that becomes a tensor.
struct Other {
  std::optional<Scalar> number;
  Tensor tensor;
};

// False if Python is to ask the other operand.
bool read_other(PyObject* object, const Location& where, Other& other) {
  other.number = number_from(object, where);
  if (other.number) return true;
  if (PyObject_HasAttrString(object, "__array_interface__") == 0 && PyList_Check(object) == 0) return false;
  other.tensor = tensor_from(object);
  return true;
}

Tensor as(const Call& call, const Tensor& tensor, DType dtype) {
  return tensor.dtype() == dtype ? tensor : to(call.arg(tensor), dtype);
}

enum class OperatorKind {
  arithmetic,
  floating,    // integers become floating numbers first
  comparison,  // types that are for storage are compared in a wider one
  logical,     // of bool alone, also beside a number
};

// What an operator computes of two tensors, of a tensor and a number, and of a number and a tensor.
struct Operator {
  Tensor (*tensors)(const Arg&, const Arg&);
  Tensor (*right_number)(const Arg&, const Scalar&);
  Tensor (*left_number)(const Scalar&, const Arg&);
  OperatorKind kind = OperatorKind::arithmetic;
};

DType operand_type(OperatorKind kind, DType dtype) {
  if (kind == OperatorKind::floating) return floating_of(dtype);
  return kind == OperatorKind::comparison ? comparable(dtype) : dtype;
}

Tensor apply(const Call& call, const Operator& op, const Tensor& x, const Tensor& y) {
  const DType dtype = operand_type(op.kind, promoted(x.dtype(), y.dtype()));
  if (x.dtype() == dtype && y.dtype() == dtype) return op.tensors(call.arg(x), call.arg(y));
  return op.tensors(call.arg(as(call, x, dtype)), call.arg(as(call, y, dtype)));
}

Tensor apply_number(const Call& call, const Operator& op, const Tensor& x, const Scalar& number, bool is_left) {
  DType dtype = x.dtype();
  if (op.kind != OperatorKind::logical) dtype = operand_type(op.kind, promoted(dtype, number));
  const Tensor y = as(call, x, dtype);
  return is_left ? op.left_number(number, call.arg(y)) : op.right_number(call.arg(y), number);
}

PyObject* not_implemented() {
  Py_INCREF(Py_NotImplemented);
  return Py_NotImplemented;
}

PyTypeObject* class_of(PyObject* a, PyObject* b) {
  if (!is_tensor(a)) return Py_TYPE(b);
  return is_tensor(b) && Py_TYPE(b) == recorded_type ? recorded_type : Py_TYPE(a);
}

PyObject* binary(PyObject* a, PyObject* b, const Operator& op) {
  return guarded([&]() -> PyObject* {
    PyTypeObject* const type = class_of(a, b);
    const Call call(type);
    Tensor result;
    if (is_tensor(a) && is_tensor(b)) {
      result = apply(call, op, tensor_in(a), tensor_in(b));
    } else {
      const bool is_left = !is_tensor(a);
      const Tensor& x = tensor_in(is_left ? b : a);
      Other other;
      if (!read_other(is_left ? a : b, call.where(), other)) return not_implemented();
      if (other.number) {
        result = apply_number(call, op, x, *other.number, is_left);
      } else {
        result = is_left ? apply(call, op, other.tensor, x) : apply(call, op, x, other.tensor);
      }
    }
    return new_object(std::move(result), type);
  });
}

// --- What the operators compute.

Tensor full_like(const Scalar& value, const Arg& like) {
  return full(Shape{}, value, {.dtype = like->dtype(), .device = like->device()}, like.where());
}
template <Tensor (*function)(const Arg&, const Arg&)>
Tensor with_left_number(const Scalar& x, const Arg& y) {
  return function(Arg(full_like(x, y), y.where().file, y.where().line), y);
}
template <Tensor (*function)(const Arg&, const Arg&)>
Tensor with_right_number(const Arg& x, const Scalar& y) {
  return function(x, Arg(full_like(y, x), x.where().file, x.where().line));
}
// A tensor that an operation made, at the same line.
Arg at(const Tensor& tensor, const Arg& like) { return Arg(tensor, like.where().file, like.where().line); }

Tensor floor_of_quotient(const Arg& x, const Arg& y) {
  if (!is_floating(x->dtype())) return floor_quotient(x, y);
  const Tensor quotient = x / y;
  return floor(at(quotient, x));
}
Tensor remainder(const Arg& x, const Arg& y) {
  if (!is_floating(x->dtype())) return floor_remainder(x, y);
  const Tensor whole = floor_of_quotient(x, y), product = at(whole, x) * y;
  return x - at(product, x);
}
// x^y of integers is float64's, which is exact below 2^53.
Tensor power(const Arg& x, const Arg& y) {
  if (is_floating(x->dtype())) return pow(x, y);
  const Tensor a = to(x, float64), b = to(y, float64), result = pow(at(a, x), at(b, x));
  return to(at(result, x), x->dtype());
}
Tensor power_number(const Arg& x, const Scalar& y) {
  if (is_floating(x->dtype())) return pow(x, y);
  if (y.is_integer() && y.as_int64() == 2) return square(x);
  const Tensor a = to(x, float64), result = pow(at(a, x), y);
  return y.is_integer() && y.as_int64() >= 0 ? to(at(result, x), x->dtype()) : result;
}
Tensor product(const Arg& x, const Arg& y) { return matmul(x, y); }

constexpr Operator plus{operator+, operator+, operator+ };
constexpr Operator minus{operator-, operator-, operator- };
constexpr Operator times{operator*, operator*, operator* };
constexpr Operator over{operator/, operator/, operator/, OperatorKind::floating};
constexpr Operator raised{power, power_number, with_left_number<power>};
constexpr Operator floored{floor_of_quotient, with_right_number<floor_of_quotient>,
                           with_left_number<floor_of_quotient>};
constexpr Operator modulo{remainder, with_right_number<remainder>, with_left_number<remainder>};
constexpr Operator matrix_product{product, with_right_number<product>, with_left_number<product>,
                                  OperatorKind::floating};
constexpr Operator conjunction{operator&, with_right_number < operator&>, with_left_number < operator&>,
                               OperatorKind::logical};
constexpr Operator disjunction{operator|, with_right_number < operator|>, with_left_number < operator|>,
                               OperatorKind::logical};
constexpr Operator exclusion{operator^, with_right_number < operator^>, with_left_number < operator^>,
                             OperatorKind::logical};

template <const Operator& op>
PyObject* slot(PyObject* a, PyObject* b) noexcept {
  return binary(a, b, op);
}
PyObject* power_slot(PyObject* a, PyObject* b, PyObject* modulus) noexcept {
  if (modulus != Py_None) return not_implemented();
  return binary(a, b, raised);
}

template <Tensor (*function)(const Arg&)>
PyObject* unary_slot(PyObject* self) noexcept {
  return guarded([&] {
    const Call call(Py_TYPE(self));
    return new_object(function(call.arg(tensor_in(self))), Py_TYPE(self));
  });
}

// --- In place: `x += y` writes the tensor's values; of integers only what stays an integer.
enum class InPlace { add, subtract, multiply };

template <InPlace kind>
void change(Tensor& x, const Arg& y) {
  if constexpr (kind == InPlace::add) x += y;
  if constexpr (kind == InPlace::subtract) x -= y;
  if constexpr (kind == InPlace::multiply) x *= y;
}
template <InPlace kind>
void change(Tensor& x, const Scalar& y) {
  if constexpr (kind == InPlace::add) x += y;
  if constexpr (kind == InPlace::subtract) x -= y;
  if constexpr (kind == InPlace::multiply) x *= y;
}

template <InPlace kind>
PyObject* in_place(PyObject* self, PyObject* value) noexcept {
  return guarded([&]() -> PyObject* {
    const Call call(Py_TYPE(self));
    Tensor& x = tensor_in(self);
    if (is_tensor(value)) {
      change<kind>(x, call.arg(as(call, tensor_in(value), x.dtype())));
    } else {
      Other other;
      if (!read_other(value, call.where(), other)) return not_implemented();
      if (other.number) {
        change<kind>(x, *other.number);
      } else {
        change<kind>(x, call.arg(as(call, other.tensor, x.dtype())));
      }
    }
    Py_INCREF(self);
    return self;
  });
}
// For operators that the library has not in place: the result is copied.
template <const Operator& op>
PyObject* copied_in_place(PyObject* self, PyObject* value) noexcept {
  PyObject* const result = binary(self, value, op);
  if (result == nullptr || result == Py_NotImplemented) return result;
  PyObject* const done = guarded([&] {
    const Call call(Py_TYPE(self));
    Tensor& x = tensor_in(self);
    x.copy_(call.arg(as(call, tensor_in(result), x.dtype())));
    Py_INCREF(self);
    return self;
  });
  Py_DECREF(result);
  return done;
}

// --- Comparisons.
constexpr Operator is_less{operator<, operator<, operator<, OperatorKind::comparison};
constexpr Operator is_greater{operator>, operator>, operator>, OperatorKind::comparison};
constexpr Operator is_equal{operator==, operator==, operator==, OperatorKind::comparison};
constexpr Operator is_at_least{operator>=, operator>=, operator>=, OperatorKind::comparison};
constexpr Operator is_at_most{operator<=, operator<=, operator<=, OperatorKind::comparison};
constexpr Operator is_not_equal{operator!=, operator!=, operator!=, OperatorKind::comparison};

PyObject* compare(PyObject* a, PyObject* b, int relation) noexcept {
  switch (relation) {
    case Py_LT:
      return binary(a, b, is_less);
    case Py_GT:
      return binary(a, b, is_greater);
    case Py_EQ:
      return binary(a, b, is_equal);
    case Py_NE:
      return binary(a, b, is_not_equal);
    case Py_GE:
      return binary(a, b, is_at_least);
    default:
      return binary(a, b, is_at_most);
  }
}
// Tensors are told apart as objects, as PyTorch's are.
Py_hash_t hash_of(PyObject* self) {
  const auto address = reinterpret_cast<std::uintptr_t>(tensor_in(self).impl());
  return static_cast<Py_hash_t>(address >> 4);
}

// --- Conversions, which wait.
void check_single(const Tensor& x, const char* what) {
  if (x.numel() != 1)
    throw_type_error(std::string("only a tensor with one element can become a ") + what + "; this one has the shape " +
                     x.shape().str());
}
int truth_of(PyObject* self) {
  PyObject* const truth = guarded([&]() -> PyObject* {
    const Tensor x = tensor_in(self);
    if (x.numel() != 1)
      throw_value_error("the truth of a tensor with " + std::to_string(x.numel()) +
                        " elements is ambiguous; compare and reduce it first");
    return PyBool_FromLong(waiting([&] { return x.item(); }) != 0);
  });
  if (truth == nullptr) return -1;
  const int result = truth == Py_True;
  Py_DECREF(truth);
  return result;
}
PyObject* item_object(const Tensor& x) {
  if (is_floating(x.dtype())) return PyFloat_FromDouble(waiting([&] { return x.item(); }));
  if (x.dtype() == int64) return PyLong_FromLongLong(waiting([&] { return x.item<std::int64_t>(); }));
  const double value = waiting([&] { return x.item(); });
  return x.dtype() == boolean ? PyBool_FromLong(value != 0) : PyLong_FromDouble(value);
}
PyObject* as_float(PyObject* self) noexcept {
  return guarded([&] {
    const Tensor x = tensor_in(self);
    check_single(x, "float");
    return PyFloat_FromDouble(waiting([&] { return x.item(); }));
  });
}
PyObject* int_object(const Tensor& x) {
  if (x.dtype() == int64) return PyLong_FromLongLong(waiting([&] { return x.item<std::int64_t>(); }));
  return PyLong_FromDouble(waiting([&] { return x.item(); }));
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

Py_ssize_t length(PyObject* self) {
  try {
    const Tensor& x = tensor_in(self);
    if (x.rank() == 0) throw_type_error("a tensor without axes has no len()");
    return static_cast<Py_ssize_t>(x.size(0));
  } catch (...) {
    set_python_error();
    return -1;
  }
}

Tensor positive(const Arg& x) { return x.tensor(); }
Tensor negative(const Arg& x) { return -x; }
Tensor inverted(const Arg& x) { return ~x; }

// Names of the limited API from 3.11 on; the numbers are older.
constexpr int bf_getbuffer = 1, bf_releasebuffer = 2;

PyType_Slot slots[] = {
    {Py_nb_add, reinterpret_cast<void*>(slot<plus>)},
    {Py_nb_subtract, reinterpret_cast<void*>(slot<minus>)},
    {Py_nb_multiply, reinterpret_cast<void*>(slot<times>)},
    {Py_nb_true_divide, reinterpret_cast<void*>(slot<over>)},
    {Py_nb_floor_divide, reinterpret_cast<void*>(slot<floored>)},
    {Py_nb_remainder, reinterpret_cast<void*>(slot<modulo>)},
    {Py_nb_power, reinterpret_cast<void*>(power_slot)},
    {Py_nb_matrix_multiply, reinterpret_cast<void*>(slot<matrix_product>)},
    {Py_nb_and, reinterpret_cast<void*>(slot<conjunction>)},
    {Py_nb_or, reinterpret_cast<void*>(slot<disjunction>)},
    {Py_nb_xor, reinterpret_cast<void*>(slot<exclusion>)},
    {Py_nb_invert, reinterpret_cast<void*>(unary_slot<inverted>)},
    {Py_nb_inplace_and, reinterpret_cast<void*>(copied_in_place<conjunction>)},
    {Py_nb_inplace_or, reinterpret_cast<void*>(copied_in_place<disjunction>)},
    {Py_nb_inplace_xor, reinterpret_cast<void*>(copied_in_place<exclusion>)},
    {Py_nb_negative, reinterpret_cast<void*>(unary_slot<negative>)},
    {Py_nb_positive, reinterpret_cast<void*>(unary_slot<positive>)},
    {Py_nb_absolute, reinterpret_cast<void*>(unary_slot<abs>)},
    {Py_nb_inplace_add, reinterpret_cast<void*>(in_place<InPlace::add>)},
    {Py_nb_inplace_subtract, reinterpret_cast<void*>(in_place<InPlace::subtract>)},
    {Py_nb_inplace_multiply, reinterpret_cast<void*>(in_place<InPlace::multiply>)},
    {Py_nb_inplace_true_divide, reinterpret_cast<void*>(copied_in_place<over>)},
    {Py_nb_bool, reinterpret_cast<void*>(truth_of)},
    {Py_nb_float, reinterpret_cast<void*>(as_float)},
    {Py_nb_int, reinterpret_cast<void*>(as_int)},
    {Py_nb_index, reinterpret_cast<void*>(as_index)},
    {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
    {Py_tp_hash, reinterpret_cast<void*>(hash_of)},
    {Py_mp_length, reinterpret_cast<void*>(length)},
    {Py_mp_subscript, reinterpret_cast<void*>(item_of)},
    {Py_mp_ass_subscript, reinterpret_cast<void*>(set_item)},
    {Py_sq_item, reinterpret_cast<void*>(row_at)},
    {bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
    {bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
    {0, nullptr},
};

nb::object grad_of(nb::handle self) {
  Tensor grad = tensor_in(self.ptr()).grad();
  if (!grad.defined()) return nb::none();
  return nb::steal(new_object(std::move(grad), Py_TYPE(self.ptr())));
}

void backward(nb::handle self, nb::handle head, bool retain_graph) {
  const Location where = here();
  const Tensor x = tensor_in(self.ptr());
  if (head.is_none()) return x.backward(retain_graph, where);
  Tensor dy = tensor_from(head);
  if (dy.dtype() != x.dtype()) dy = to(Arg(dy, where.file, where.line), x.dtype());
  x.backward(dy, retain_graph, where);
}

}  // namespace

TensorClass bind_tensor(nb::module_& m) {
  TensorClass tensor(m, "Tensor", nb::type_slots(slots), nb::is_weak_referenceable(),
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
      .def_prop_ro("nbytes",
                   [](nb::handle x) {
                     const Tensor& t = tensor_in(x.ptr());
                     return t.numel() * static_cast<std::int64_t>(size_bytes(t.dtype()));
                   })
      .def_prop_ro("itemsize", [](nb::handle x) { return size_bytes(tensor_in(x.ptr()).dtype()); })
      .def_prop_rw(
          "requires_grad", [](nb::handle x) { return tensor_in(x.ptr()).requires_grad(); },
          [](nb::handle x, bool wanted) { tensor_in(x.ptr()).requires_grad_(wanted); },
          "Whether a gradient is computed for it, or for what it was computed from.")
      .def(
          "requires_grad_",
          [](nb::handle x, bool wanted) {
            tensor_in(x.ptr()).requires_grad_(wanted);
            return nb::borrow(x);
          },
          nb::arg("wanted") = true, "Makes it a leaf whose gradient is wanted, or not, and returns it.")
      .def_prop_ro("is_leaf", [](nb::handle x) { return tensor_in(x.ptr()).is_leaf(); })
      .def_prop_rw(
          "grad", &grad_of,
          [](nb::handle x, nb::handle value) {
            if (!value.is_none()) throw_value_error("grad can only be set to None");
            tensor_in(x.ptr()).zero_grad();
          },
          nb::for_setter(nb::arg("value").none()), "The gradient so far, or None; assign None to drop it.")
      .def(
          "zero_grad", [](nb::handle x) { tensor_in(x.ptr()).zero_grad(); }, "Drops the gradient.")
      .def("backward", &backward, nb::arg("gradient") = nb::none(), nb::arg("retain_graph") = false,
           "Queues the gradients of every leaf that this was computed from, which are added to their grad. `gradient`, "
           "of this shape, stands for that of what follows; without one this has a single element.")
      .def(
          "detach", [](nb::handle x) { return nb::steal(new_object(tensor_in(x.ptr()).detach(), Py_TYPE(x.ptr()))); },
          "A tensor that shares the values and has no history.")
      .def(
          "wait",
          [](nb::handle self) {
            const Tensor x = tensor_in(self.ptr());
            waiting([&] { x.wait(); });
            release_dropped_objects();
            return nb::borrow(self);
          },
          "Waits until the values are computed, and returns the tensor.")
      .def(
          "item",
          [](nb::handle self) {
            const Tensor x = tensor_in(self.ptr());
            if (x.numel() != 1) throw_value_error("item() of a tensor of shape " + x.shape().str());
            return nb::steal(item_object(x));
          },
          "The only element as a number of Python. Waits for it.")
      .def("_address", [](nb::handle x) { return reinterpret_cast<std::uintptr_t>(tensor_in(x.ptr()).impl()); });
  tensor.attr("__array_priority__") = 1000;
  tensor.attr("__array_ufunc__") = nb::none();
  m.def("_set_recorded_type",
        [](nb::handle type) { recorded_type = reinterpret_cast<PyTypeObject*>(type.inc_ref().ptr()); });
  m.def("_record", [](bool kept) { return std::exchange(records_kept, kept); });
  m.def(
      "_as_type",
      [](nb::handle x, nb::handle type) {
        return nb::steal(new_object(Tensor(tensor_in(x.ptr())), reinterpret_cast<PyTypeObject*>(type.ptr())));
      },
      "The same tensor as an object of another class.");
  return tensor;
}

}  // namespace asyncgrad::python
