// The operators of the type Tensor. They are slots, as a slot costs a third of a bound method.
#include "operators.h"
#include "call.h"
#include "conversion.h"
#include "dtypes.h"
#include "errors.h"
#include "functions.h"
#include "tensor.h"
#include "tensor_classes.h"

namespace asyncgrad::python {

namespace {

// An operand of an operator that is no tensor: a number, or an array that becomes a tensor.
struct Other {
  std::optional<Scalar> number;
  Tensor tensor;
};

// False if Python is to ask the other operand.
bool read_other(PyObject* object, const Tensor& beside, const Location& where, Other& other) {
  other.number = number_beside(beside.dtype(), object, where);
  if (other.number) return true;
  const bool is_array = PyBool_Check(object) || PyList_Check(object) || PyTuple_Check(object) ||
                        PyObject_HasAttrString(object, "__array_interface__") != 0;
  if (!is_array) return false;
  other.tensor = tensor_beside(beside, object);
  return true;
}

enum class OperatorKind {
  arithmetic,
  floating,    // integers become floating numbers first
  comparison,  // types that are for storage are compared in a wider one
  logical,     // of bool alone, also beside a number
  product,     // a matrix product: floating, and also of types that are for storage otherwise
};

// The functions of an operator for two tensors, for a tensor and a number, and for a number and a tensor.
struct Operator {
  Tensor (*tensors)(const Arg&, const Arg&);
  Tensor (*right_number)(const Arg&, const Scalar&);
  Tensor (*left_number)(const Scalar&, const Arg&);
  OperatorKind kind = OperatorKind::arithmetic;
  bool takes_bool = false;            // as NumPy: a sum of bool is "or", a product "and"
  const char* of_integers = nullptr;  // NumPy's function of bits, which asyncgrad._bits calls
};

DType operand_type(OperatorKind kind, DType dtype) {
  if (kind == OperatorKind::floating || kind == OperatorKind::product) return floating_of(dtype);
  return kind == OperatorKind::comparison ? comparable(dtype) : dtype;
}

// Types that are for storage are computed with in a wider one.
DType type_within(const Operator& op, DType dtype) {
  const bool has_kernel = op.kind == OperatorKind::logical || op.kind == OperatorKind::product;
  if (has_kernel || has_arithmetic(dtype)) return dtype;
  if (dtype == boolean) return op.takes_bool ? int64 : dtype;
  return comparable(dtype);
}
// Predicates are of bool whatever they compare.
Tensor as_result(const Call& call, const Operator& op, Tensor&& result, DType dtype) {
  return op.kind == OperatorKind::comparison ? std::move(result) : to(call.arg(result), dtype);
}

Tensor apply(const Call& call, const Operator& op, const Tensor& x, const Tensor& y) {
  const DType dtype = operand_type(op.kind, call.promoted(x.dtype(), y.dtype())), within = type_within(op, dtype);
  if (x.dtype() == within && y.dtype() == within) return op.tensors(call.arg(x), call.arg(y));
  Tensor result = op.tensors(call.arg(in_type(call, x, within)), call.arg(in_type(call, y, within)));
  return within == dtype ? result : as_result(call, op, std::move(result), dtype);
}

Tensor apply_number(const Call& call, const Operator& op, const Tensor& x, const Scalar& number, bool is_left) {
  DType dtype = x.dtype();
  if (op.kind != OperatorKind::logical) dtype = operand_type(op.kind, call.promoted(dtype, number));
  const DType within = type_within(op, dtype);
  const Tensor y = in_type(call, x, within);
  const Scalar value = call.number(number, dtype);
  if (within != dtype && op.kind == OperatorKind::arithmetic) check_holds_number(value, dtype, "number");
  Tensor result = is_left ? op.left_number(value, call.arg(y)) : op.right_number(call.arg(y), value);
  return within == dtype || result.dtype() != within ? result : as_result(call, op, std::move(result), dtype);
}

PyObject* not_implemented() {
  Py_INCREF(Py_NotImplemented);
  return Py_NotImplemented;
}

PyTypeObject* class_of(PyObject* a, PyObject* b) {
  if (!is_tensor(a)) return Py_TYPE(b);
  if (Py_TYPE(a) == Py_TYPE(b) || !is_tensor(b)) return Py_TYPE(a);
  const auto is_registered = [](PyObject* x) { return rules_of(Py_TYPE(x)).type != nullptr; };
  return !is_registered(a) && is_registered(b) ? Py_TYPE(b) : Py_TYPE(a);
}

bool holds_integers(PyObject* x) {
  return is_tensor(x) && tensor_in(x).dtype() != boolean && !is_floating(tensor_in(x).dtype());
}
// The library has no kernels for the bits of integers.
bool is_of_bits(const Operator& op, PyObject* a, PyObject* b) {
  return op.of_integers != nullptr && (op.tensors == nullptr || holds_integers(a) || holds_integers(b));
}

PyObject* binary(PyObject* a, PyObject* b, const Operator& op) {
  return guarded([&]() -> PyObject* {
    if (is_of_bits(op, a, b))
      return nb::module_::import_("asyncgrad._bits")
          .attr("operate")(op.of_integers, nb::handle(a), nb::handle(b))
          .release()
          .ptr();
    PyTypeObject* const type = class_of(a, b);
    const Call call(type);
    Tensor result;
    if (is_tensor(a) && is_tensor(b)) {
      result = apply(call, op, tensor_in(a), tensor_in(b));
    } else {
      const bool is_left = !is_tensor(a);
      const Tensor& x = tensor_in(is_left ? b : a);
      Other other;
      if (!read_other(is_left ? a : b, x, call.where(), other)) return not_implemented();
      if (other.number) {
        result = apply_number(call, op, x, *other.number, is_left);
      } else {
        result = is_left ? apply(call, op, other.tensor, x) : apply(call, op, x, other.tensor);
      }
    }
    return new_object(std::move(result), type);
  });
}

// --- The functions of the operators.

Tensor number_beside(const Scalar& value, const Arg& like) {
  return full(Shape{}, value, {.dtype = like->dtype(), .device = like->device()}, like.where());
}
template <Tensor (*function)(const Arg&, const Arg&)>
Tensor with_left_number(const Scalar& x, const Arg& y) {
  return function(Arg(number_beside(x, y), y.where()), y);
}
template <Tensor (*function)(const Arg&, const Arg&)>
Tensor with_right_number(const Arg& x, const Scalar& y) {
  return function(x, Arg(number_beside(y, x), x.where()));
}
// A tensor that an operation made, at the same line.
Arg at(const Tensor& tensor, const Arg& like) { return Arg(tensor, like.where()); }

// A negative power of integers is a floating number.
Tensor power_number(const Arg& x, const Scalar& y) {
  const bool is_whole = y.is_integer() && y.as_int64() >= 0;
  if (is_floating(x->dtype()) || is_whole) return pow(x, y);
  return pow(at(to(x, float64), x), y);
}
Tensor product(const Arg& x, const Arg& y) { return matmul(x, y); }

constexpr Operator plus{operator+, operator+, operator+, OperatorKind::arithmetic, true};
constexpr Operator minus{operator-, operator-, operator- };
constexpr Operator times{operator*, operator*, operator*, OperatorKind::arithmetic, true};
constexpr Operator over{operator/, operator/, operator/, OperatorKind::floating};
constexpr Operator raised{pow, power_number, with_left_number<pow>};
constexpr Operator floored{floor_divide, floor_divide, with_left_number<floor_divide>};
constexpr Operator modulo{remainder, remainder, with_left_number<remainder>};
constexpr Operator matrix_product{product, with_right_number<product>, with_left_number<product>,
                                  OperatorKind::product};
constexpr Operator conjunction{operator&,
                               with_right_number < operator&>,
                               with_left_number < operator&>,
                               OperatorKind::logical,
                               false,
                               "bitwise_and"};
constexpr Operator disjunction{operator|,
                               with_right_number < operator|>,
                               with_left_number < operator|>,
                               OperatorKind::logical,
                               false,
                               "bitwise_or"};
constexpr Operator exclusion{operator^,
                             with_right_number < operator^>,
                             with_left_number < operator^>,
                             OperatorKind::logical,
                             false,
                             "bitwise_xor"};

// Of integers alone.
constexpr Operator left_shift{nullptr, nullptr, nullptr, OperatorKind::logical, false, "left_shift"};
constexpr Operator right_shift{nullptr, nullptr, nullptr, OperatorKind::logical, false, "right_shift"};

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
    const Tensor& x = tensor_in(self);
    const Tensor result = function(call.arg(in_type(call, x, comparable(x.dtype()))));
    return new_object(to(call.arg(result), x.dtype()), Py_TYPE(self));
  });
}

// --- In place: `x += y` writes the tensor's values; of integers only what stays an integer.
enum class InPlace { add, subtract, multiply, divide };

template <InPlace kind>
void change(Tensor& x, const Arg& y) {
  if constexpr (kind == InPlace::add) x += y;
  if constexpr (kind == InPlace::subtract) x -= y;
  if constexpr (kind == InPlace::multiply) x *= y;
  if constexpr (kind == InPlace::divide) x /= y;
}
template <InPlace kind>
void change(Tensor& x, const Scalar& y) {
  if constexpr (kind == InPlace::add) x += y;
  if constexpr (kind == InPlace::subtract) x -= y;
  if constexpr (kind == InPlace::multiply) x *= y;
  if constexpr (kind == InPlace::divide) x /= y;
}

void check_holds(const Tensor& x, DType dtype) {
  const bool loses_fraction = is_floating(dtype) && !is_floating(x.dtype());
  if (loses_fraction || (x.dtype() == boolean && dtype != boolean))
    throw_type_error(std::string("a tensor of ") + std::string(name(x.dtype())) + " cannot hold the result, which is " +
                     std::string(name(dtype)));
}

// For operators that the library does not have in place: the result is copied.
template <const Operator& op>
PyObject* copied_in_place(PyObject* self, PyObject* value) noexcept {
  PyObject* const result = binary(self, value, op);
  if (result == nullptr || result == Py_NotImplemented) return result;
  PyObject* const done = guarded([&] {
    const Call call(Py_TYPE(self));
    Tensor& x = tensor_in(self);
    const Tensor& computed = tensor_in(result);
    check_holds(x, computed.dtype());
    x.copy_(call.arg(in_type(call, computed, x.dtype())));
    Py_INCREF(self);
    return self;
  });
  Py_DECREF(result);
  return done;
}

PyObject* power_in_place(PyObject* self, PyObject* value, PyObject* modulus) noexcept {
  return modulus == Py_None ? copied_in_place<raised>(self, value) : not_implemented();
}

template <InPlace kind, const Operator& op>
PyObject* in_place(PyObject* self, PyObject* value) noexcept {
  return guarded([&]() -> PyObject* {
    Tensor& x = tensor_in(self);
    const bool is_direct = has_arithmetic(x.dtype()) && (kind != InPlace::divide || is_floating(x.dtype()));
    if (!is_direct) return copied_in_place<op>(self, value);
    const Call call(Py_TYPE(self));
    Other other;
    if (!is_tensor(value) && !read_other(value, x, call.where(), other)) return not_implemented();
    if (other.number) {
      check_holds(x, call.promoted(x.dtype(), *other.number));
      change<kind>(x, call.number(*other.number, x.dtype()));
    } else {
      const Tensor& y = is_tensor(value) ? tensor_in(value) : other.tensor;
      check_holds(x, y.dtype());
      change<kind>(x, call.arg(in_type(call, y, x.dtype())));
    }
    Py_INCREF(self);
    return self;
  });
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

Tensor positive(const Arg& x) { return clone(x); }
Tensor negative(const Arg& x) { return -x; }
Tensor inverted(const Arg& x) { return x->dtype() == int64 ? std::int64_t{-1} - x : ~x; }

}  // namespace

PyObject* power(PyObject* a, PyObject* b) noexcept { return binary(a, b, raised); }

std::vector<PyType_Slot> operator_slots() {
  return {
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
      {Py_nb_lshift, reinterpret_cast<void*>(slot<left_shift>)},
      {Py_nb_rshift, reinterpret_cast<void*>(slot<right_shift>)},
      {Py_nb_invert, reinterpret_cast<void*>(unary_slot<inverted>)},
      {Py_nb_inplace_and, reinterpret_cast<void*>(copied_in_place<conjunction>)},
      {Py_nb_inplace_or, reinterpret_cast<void*>(copied_in_place<disjunction>)},
      {Py_nb_inplace_xor, reinterpret_cast<void*>(copied_in_place<exclusion>)},
      {Py_nb_inplace_lshift, reinterpret_cast<void*>(copied_in_place<left_shift>)},
      {Py_nb_inplace_rshift, reinterpret_cast<void*>(copied_in_place<right_shift>)},
      {Py_nb_negative, reinterpret_cast<void*>(unary_slot<negative>)},
      {Py_nb_positive, reinterpret_cast<void*>(unary_slot<positive>)},
      {Py_nb_absolute, reinterpret_cast<void*>(unary_slot<abs>)},
      {Py_nb_inplace_add, reinterpret_cast<void*>(in_place<InPlace::add, plus>)},
      {Py_nb_inplace_subtract, reinterpret_cast<void*>(in_place<InPlace::subtract, minus>)},
      {Py_nb_inplace_multiply, reinterpret_cast<void*>(in_place<InPlace::multiply, times>)},
      {Py_nb_inplace_true_divide, reinterpret_cast<void*>(in_place<InPlace::divide, over>)},
      {Py_nb_inplace_floor_divide, reinterpret_cast<void*>(copied_in_place<floored>)},
      {Py_nb_inplace_remainder, reinterpret_cast<void*>(copied_in_place<modulo>)},
      {Py_nb_inplace_power, reinterpret_cast<void*>(power_in_place)},
      {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
  };
}

}  // namespace asyncgrad::python
