// Memory shared with other libraries: the buffer protocol and NumPy.

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "array_checks.h"
#include "arrays.h"
#include "asyncgrad/core/host_memory.h"
#include "asyncgrad/core/wait_hooks.h"
#include "call.h"
#include "callbacks.h"
#include "conversion.h"
#include "dtypes.h"
#include "errors.h"
#include "exports.h"
#include "functions.h"
#include "module.h"
#include "python_object.h"
#include "tensor.h"
#include "thread_end.h"

namespace asyncgrad::python {

namespace {

// As CPython's Py_buffer, which the limited API has from 3.11 on; its layout is older.
struct Buffer {
  void* buf;
  PyObject* obj;
  Py_ssize_t len;
  Py_ssize_t itemsize;
  int readonly;
  int ndim;
  char* format;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  Py_ssize_t* suboffsets;
  void* internal;
};
constexpr int wants_format = 4, wants_shape = 8, wants_strides = 16 | wants_shape;

// The data to which a view refers as long as it lives.
struct View {
  Export exported;
  std::vector<Py_ssize_t> shape, strides;
};

const char* format_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return "f";
    case DType::float64:
      return "d";
    case DType::int64:
      return "l";
    case DType::int32:
      return "i";
    case DType::uint8:
      return "B";
    case DType::boolean:
      return "?";
    case DType::bfloat16:
      break;
  }
  return nullptr;
}

// NumPy forgets what get_buffer() raises, and calls __array__ next. So that an interrupt is not forgotten, its type and
// arguments are kept, as a tuple; null: get_buffer() was not interrupted. Under the interpreter's lock.
thread_local PyObject* interrupt = nullptr;

void keep_interrupt() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  if (type == nullptr) return;
  PyErr_NormalizeException(&type, &value, &traceback);
  PyObject* const arguments = PyObject_GetAttrString(value, "args");
  interrupt = arguments == nullptr ? nullptr : Py_BuildValue("(ON)", type, arguments);
  PyErr_Clear();
  PyErr_Restore(type, value, traceback);
}

void raise_interrupt() {
  if (interrupt == nullptr) return;
  const nb::object kept = nb::steal(std::exchange(interrupt, nullptr));
  PyErr_SetObject(nb::object(kept[0]).ptr(), nb::object(kept[1]).ptr());
  throw nb::python_error();
}

std::unique_ptr<View> view_of(const Tensor& tensor, void* data) {
  const Shape& shape = tensor.shape();
  const auto strides = row_major_strides(shape, static_cast<std::int64_t>(size_bytes(tensor.dtype())));
  return std::unique_ptr<View>(new View{
      .exported = {tensor, data}, .shape = {shape.begin(), shape.end()}, .strides = {strides.begin(), strides.end()}});
}

extern "C" {
int PyObject_GetBuffer(PyObject* object, Buffer* view, int flags);
void PyBuffer_Release(Buffer* view);
}

// A buffer of another object, row major.
class OtherBuffer {
 public:
  OtherBuffer(nb::handle object, bool writable) {
    constexpr int c_contiguous = 0x20 | wants_strides, is_writable = 1;
    if (PyObject_GetBuffer(object.ptr(), &buffer_, c_contiguous | wants_format | (writable ? is_writable : 0)) != 0)
      throw nb::python_error();
  }
  OtherBuffer(const OtherBuffer&) = delete;
  OtherBuffer& operator=(const OtherBuffer&) = delete;
  ~OtherBuffer() { PyBuffer_Release(&buffer_); }
  void* data() const { return buffer_.buf; }
  Py_ssize_t bytes() const { return buffer_.len; }

 private:
  Buffer buffer_{};
};

std::string dtype_name(nb::handle array) { return nb::cast<std::string>(nb::str(array.attr("dtype").attr("name"))); }

// NumPy takes every byte but 0 for True; kernels compute with the bytes.
nb::object with_truths_of_0_and_1(nb::handle array) {
  return numpy().attr("asarray")(numpy().attr("not_equal")(array.attr("view")("uint8"), 0));
}

}  // namespace

std::vector<std::int64_t> row_major_strides(const Shape& shape, std::int64_t unit) {
  std::vector<std::int64_t> strides(static_cast<std::size_t>(shape.rank()));
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = unit;
    unit *= shape[axis];
  }
  return strides;
}

void* address_of(const Tensor& tensor) { return address_in(tensor, host_data); }

void* address_in(const Tensor& tensor, void* (*address)(const Tensor&)) {
  void* const data = waiting([&] { return address(tensor); });
  static char nothing[64];
  return data == nullptr ? nothing : data;
}

// The slots get CPython's Py_buffer, which is a Buffer.
int get_buffer(PyObject* self, PythonBuffer* py_view, int flags) {
  auto* const view = reinterpret_cast<Buffer*>(py_view);
  view->obj = nullptr;
  Py_CLEAR(interrupt);
  return guarded_number([&] {
    const Tensor tensor = tensor_in(self);
    if (format_of(tensor.dtype()) == nullptr) {
      PyErr_Format(PyExc_BufferError, "no buffer can hold %s", name(tensor.dtype()));
      return -1;
    }
    try {
      view->buf = address_of(tensor);
    } catch (const Interrupted&) {
      keep_interrupt();
      throw;
    }
    std::unique_ptr<View> kept = view_of(tensor, view->buf);
    view->itemsize = static_cast<Py_ssize_t>(size_bytes(tensor.dtype()));
    view->len = static_cast<Py_ssize_t>(tensor.numel()) * view->itemsize;
    view->readonly = 0;
    view->ndim = tensor.rank();
    view->format = (flags & wants_format) != 0 ? const_cast<char*>(format_of(tensor.dtype())) : nullptr;
    view->shape = (flags & wants_shape) != 0 ? kept->shape.data() : nullptr;
    view->strides = (flags & wants_strides) == wants_strides ? kept->strides.data() : nullptr;
    view->suboffsets = nullptr;
    view->internal = kept.release();
    Py_INCREF(self);
    view->obj = self;
    return 0;
  });
}

void release_buffer(PyObject*, PythonBuffer* view) {
  delete static_cast<View*>(reinterpret_cast<Buffer*>(view)->internal);
}

namespace {

bool is_list(nb::handle object) { return PyList_Check(object.ptr()) != 0 || PyTuple_Check(object.ptr()) != 0; }

// Whether a list, of lists, has a tensor whose gradient is wanted here. NumPy would take its values alone.
bool has_recorded(nb::handle object, int depth = 0) {
  if (is_tensor(object.ptr())) return tensor_in(object.ptr()).requires_grad() && grad_enabled();
  if (!is_list(object) || depth == Shape::max_rank) return false;
  const bool is_tuple = PyTuple_Check(object.ptr()) != 0;
  const Py_ssize_t count = is_tuple ? PyTuple_Size(object.ptr()) : PyList_Size(object.ptr());
  for (Py_ssize_t i = 0; i < count; ++i) {
    const nb::handle item = is_tuple ? PyTuple_GetItem(object.ptr(), i) : PyList_GetItem(object.ptr(), i);
    if (PyFloat_CheckExact(item.ptr()) == 0 && has_recorded(item, depth + 1)) return true;
  }
  return false;
}

// One beside another, in the type that they have in common. Recorded.
Tensor stacked(nb::handle list, Device device) {
  std::vector<Tensor> tensors;
  for (const nb::object& item : items_from(list, "tensors")) {
    tensors.push_back(array_copy(item, nb::none(), device));
  }
  const Call call(tensor_type);
  give_one_type(call, tensors);
  return stack(tensors, 0, call.where());
}

}  // namespace

Tensor array_copy(nb::handle object, nb::handle dtype, Device device) {
  const Location where = here();
  if (is_list(object) && has_recorded(object)) {
    const Tensor all = stacked(object, device);
    return dtype.is_none() ? all : to(Arg(all, where), dtype_from(dtype));
  }
  if (is_tensor(object.ptr())) {
    const Tensor& tensor = tensor_in(object.ptr());
    const DType wanted = dtype.is_none() ? tensor.dtype() : dtype_from(dtype);
    const Tensor moved = to(Arg(tensor, where), device);
    const Arg arg(moved, where);
    if (wanted != tensor.dtype()) return to(arg, wanted);
    return moved.impl() == tensor.impl() ? clone(arg) : moved;
  }
  if (dtype.is_none() && (PyFloat_CheckExact(object.ptr()) || PyLong_CheckExact(object.ptr()))) {
    const Scalar number = *number_from(object.ptr(), where);
    return full(Shape{}, number, {.dtype = number.is_integer() ? int64 : default_dtype(), .device = device}, where);
  }
  nb::object array = numpy().attr("asarray")(object);
  std::string text = dtype_name(array);
  const bool has_numbers = tensor_type_of(text).has_value(), has_own_type = !has_numbers || !is_untyped(object);
  if (text == "float64" && !has_own_type) text = name(default_dtype());
  const std::optional<DType> natural = tensor_type_of(text);
  if (text == "object" && !nb::hasattr(object, "dtype"))
    check_large_numbers(array, dtype.is_none() ? int64 : dtype_from(dtype));
  if (dtype.is_none() && !natural)
    throw_type_error("a tensor cannot hold elements of type " + text + "; make numbers of them first");
  if (has_numbers) check_unmasked(object);
  const DType wanted = dtype.is_none() ? *natural : dtype_from(dtype);
  // Numbers of uint64 that int64 cannot hold are refused. If a type is asked for, it takes their low bits.
  if (!has_own_type || (dtype.is_none() && text == "uint64")) check_bounds(array, wanted);
  if (natural && is_floating(*natural) && !is_floating(wanted) && wanted != boolean) {  // as astype() does
    const Tensor values = array_copy(array, nb::none(), device);
    return to(Arg(values, where), wanted);
  }
  if (wanted == bfloat16) {  // NumPy does not have it
    const Tensor values = array_copy(array.attr("astype")("float32"), nb::none(), device);
    return to(Arg(values, where), bfloat16);
  }
  array = numpy().attr("asarray")(array, nb::arg("dtype") = name(wanted), nb::arg("order") = "C");
  if (wanted == boolean) array = with_truths_of_0_and_1(array);
  const Shape shape = shape_from(array.attr("shape"));
  const OtherBuffer buffer(array, false);
  return Tensor::from_bytes(buffer.data(), static_cast<std::size_t>(shape.numel()), wanted, shape, device, where);
}

// Operations write into tensors, and read their elements one after the other.
void check_flags(nb::handle array) {
  const nb::object flags = array.attr("flags");
  if (!nb::cast<bool>(flags.attr("writeable")))
    throw_value_error("a tensor cannot share memory that is read-only; array() copies it");
  if (!nb::cast<bool>(flags.attr("c_contiguous")))
    throw_value_error("a tensor cannot share elements that do not follow each other in C order: shape " +
                      repr_of(array.attr("shape")) + ", strides " + repr_of(array.attr("strides")) +
                      "; array() copies them");
}

nb::object kept_memory(nb::handle object) {
  nb::list kept;
  const nb::object type = numpy().attr("ndarray");
  for (nb::object owner = nb::borrow(object); nb::isinstance(owner, type); owner = owner.attr("base")) {
    const nb::object reference = nb::steal(PyWeakref_NewRef(owner.ptr(), nullptr));
    if (!reference.is_valid()) throw nb::python_error();
    kept.append(owner);
    kept.append(reference);
  }
  if (nb::len(kept) == 0) kept.append(object);
  return kept;
}

Tensor from_buffer(nb::handle object) {
  if (is_masked_array(object)) throw_type_error("a tensor cannot share a masked array; share its data, or fill it");
  const nb::object array = numpy().attr("asarray")(object);
  const std::string text = dtype_name(array);
  const auto dtype = tensor_type_of(text);
  if (!dtype || text != name(*dtype))
    throw_type_error("a tensor cannot share elements of type " + text + "; array() converts numbers");
  if (!nb::cast<bool>(array.attr("dtype").attr("isnative")))
    throw_type_error("a tensor cannot share elements in the byte order of another machine; array() copies them");
  check_flags(array);
  const OtherBuffer buffer(array, true);
  check_aligned(buffer.data(), *dtype);
  const Shape shape = shape_from(array.attr("shape"));
  if (const auto own = exported_tensor(buffer.data(), *dtype, shape)) return *own;
  check_truths(buffer.data(), *dtype, shape);
  const HeldObject held(kept_memory(array));
  return from_host_memory(buffer.data(), *dtype, shape, [held] {});
}

nb::object numpy_view(void* data, DType dtype, const Shape& shape, nb::handle owner, bool writable) {
  const nb::object module =
      nb::steal(unless_interpreter_ends([] { return PyImport_ImportModule("asyncgrad._numpy"); }));
  if (!module.is_valid()) throw nb::python_error();
  const nb::tuple arguments =
      nb::make_tuple(reinterpret_cast<std::uintptr_t>(data), name(dtype), tuple_of(shape), owner, writable);
  const nb::object view = nb::steal(call_python(module.attr("view"), arguments));
  if (!view.is_valid()) throw nb::python_error();
  return view;
}

void bind_arrays(nb::module_& m) {
  m.def("_check_unmasked", &check_unmasked, nb::arg("object").none());
  m.def("_raise_interrupt", &raise_interrupt);
  m.def(
      "array",
      [](nb::handle object, nb::handle dtype, nb::handle device) -> TensorObject {
        return nb::steal(new_object(array_copy(object, dtype, device_or_default(device)), tensor_type));
      },
      nb::arg("object"), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
      "A tensor with a copy of the values: numbers, nested lists, arrays, other tensors. Python's floats "
      "become default_dtype(), its integers int64; arrays and numbers of NumPy keep their type.");
  m.def(
      "asarray",
      [](nb::handle object, nb::handle dtype, nb::handle device) -> TensorObject {
        if (is_tensor(object.ptr()) && dtype.is_none() && device.is_none()) return nb::borrow(object);
        return nb::steal(new_object(array_copy(object, dtype, device_or_default(device)), tensor_type));
      },
      nb::arg("object"), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
      "A tensor as it is; of anything else what array() makes of it.");
  m.def(
      "from_numpy",
      [](nb::handle array) -> TensorObject { return nb::steal(new_object(from_buffer(array), tensor_type)); },
      nb::arg("array"),
      "A tensor that shares the memory of an array, which is writable, row major, aligned and in this machine's byte "
      "order. Of an array that a tensor's numpy() has given it shares that tensor's values, and what is queued for one "
      "follows what is queued for the other.");
}

}  // namespace asyncgrad::python
