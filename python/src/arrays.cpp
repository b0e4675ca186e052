// Memory shared with other libraries: the buffer protocol, DLPack and NumPy.

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "array_checks.h"
#include "asyncgrad/core/host_memory.h"
#include "asyncgrad/core/wait_hooks.h"
#include "binding.h"

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
  Tensor tensor;
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

void* address_of(const Tensor& tensor) {
  void* const data = waiting([&] { return host_data(tensor); });
  static char nothing[64];
  return data == nullptr ? nothing : data;
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

// The distance from element to element along each axis, in multiples of `unit`.
std::vector<std::int64_t> row_major_strides(const Shape& shape, std::int64_t unit) {
  std::vector<std::int64_t> strides(static_cast<std::size_t>(shape.rank()));
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = unit;
    unit *= shape[axis];
  }
  return strides;
}

std::unique_ptr<View> view_of(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  const auto strides = row_major_strides(shape, static_cast<std::int64_t>(size_bytes(tensor.dtype())));
  return std::make_unique<View>(
      View{.tensor = tensor, .shape = {shape.begin(), shape.end()}, .strides = {strides.begin(), strides.end()}});
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
    std::unique_ptr<View> kept = view_of(tensor);
    try {
      view->buf = address_of(tensor);
    } catch (const Interrupted&) {
      keep_interrupt();
      throw;
    }
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

Tensor array_copy(nb::handle object, nb::handle dtype, Device device) {
  const Location where = here();
  if (is_tensor(object.ptr())) {
    const Tensor& tensor = tensor_in(object.ptr());
    const DType wanted = dtype.is_none() ? tensor.dtype() : dtype_from(dtype);
    const Tensor moved = to(Arg(tensor, where.file, where.line), device);
    const Arg arg(moved, where.file, where.line);
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
  if (dtype.is_none() && !natural) throw_type_error("a tensor cannot hold elements of type " + text);
  if (has_numbers) check_unmasked(object);
  const DType wanted = dtype.is_none() ? *natural : dtype_from(dtype);
  if (!has_own_type) check_bounds(array, wanted);
  if (natural && is_floating(*natural) && !is_floating(wanted) && wanted != boolean) {  // as astype() does
    const Tensor values = array_copy(array, nb::none(), device);
    return to(Arg(values, where.file, where.line), wanted);
  }
  if (wanted == bfloat16) {  // NumPy does not have it
    const Tensor values = array_copy(array.attr("astype")("float32"), nb::none(), device);
    return to(Arg(values, where.file, where.line), bfloat16);
  }
  array = numpy().attr("asarray")(array, nb::arg("dtype") = name(wanted), nb::arg("order") = "C");
  if (wanted == boolean) array = with_truths_of_0_and_1(array);
  const Shape shape = shape_from(array.attr("shape"));
  const OtherBuffer buffer(array, false);
  return Tensor::from_bytes(buffer.data(), static_cast<std::size_t>(shape.numel()), wanted, shape, device, where);
}

namespace {

// Kernels read whole elements at a time.
void check_aligned(const void* data, DType dtype) {
  if (reinterpret_cast<std::uintptr_t>(data) % size_bytes(dtype) == 0) return;
  throw_value_error("only memory that is aligned to its elements can be shared, " + std::to_string(size_bytes(dtype)) +
                    " bytes for " + name(dtype) + "; array() copies it");
}

}  // namespace

// Keeps the memory of an object, and its extent: NumPy does not resize an array that has weak references.
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
  if (!dtype || text != name(*dtype)) throw_type_error("a tensor cannot share elements of type " + text);
  if (!nb::cast<bool>(array.attr("dtype").attr("isnative")))
    throw_type_error("a tensor cannot share elements in the byte order of another machine; array() copies them");
  const OtherBuffer buffer(array, true);
  check_aligned(buffer.data(), *dtype);
  const HeldObject held(kept_memory(array));
  return from_host_memory(buffer.data(), *dtype, shape_from(array.attr("shape")), [held] {});
}

nb::object numpy_view(void* data, DType dtype, const Shape& shape, nb::handle owner, bool writable) {
  const nb::object make = nb::module_::import_("asyncgrad._numpy").attr("view");
  return make(reinterpret_cast<std::uintptr_t>(data), name(dtype), tuple_of(shape), owner, writable);
}

namespace {

// --- DLPack, version 0: https://dmlc.github.io/dlpack/latest/c_api.html

struct DLDevice {
  std::int32_t type, index;
};
struct DLDataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};
constexpr std::int32_t dl_cpu = 1;

DLDataType dl_type(DType dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * size_bytes(dtype));
  const std::uint8_t code = dtype == bfloat16    ? 4
                            : dtype == boolean   ? 6
                            : dtype == uint8     ? 1
                            : is_floating(dtype) ? 2
                                                 : 0;
  return {code, bits, 1};
}

std::optional<DType> type_of(DLDataType type) {
  for (int i = 0; i < dtype_count; ++i) {
    const DLDataType row = dl_type(static_cast<DType>(i));
    if (row.code == type.code && row.bits == type.bits && type.lanes == 1) return static_cast<DType>(i);
  }
  return std::nullopt;
}

struct Exported {
  DLManagedTensor managed{};
  Tensor tensor;
  std::vector<std::int64_t> shape, strides;
};

nb::object exported(const Tensor& tensor) {
  auto kept = std::make_unique<Exported>();
  kept->tensor = tensor;
  kept->strides = row_major_strides(tensor.shape(), 1);
  kept->shape.assign(tensor.shape().begin(), tensor.shape().end());
  kept->managed = {.tensor = {.data = address_of(tensor),
                              .device = {dl_cpu, 0},
                              .ndim = tensor.rank(),
                              .dtype = dl_type(tensor.dtype()),
                              .shape = kept->shape.data(),
                              .strides = kept->strides.data(),
                              .byte_offset = 0},
                   .context = kept.get(),
                   .deleter = [](DLManagedTensor* managed) { delete static_cast<Exported*>(managed->context); }};
  // A capsule that no library has taken keeps its name, and owns its tensor.
  const auto destroy = [](PyObject* capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor") == 0) return;
    auto* const managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
    managed->deleter(managed);
  };
  PyObject* const capsule = PyCapsule_New(&kept->managed, "dltensor", destroy);
  if (capsule == nullptr) throw nb::python_error();
  static_cast<void>(kept.release());
  return nb::steal(capsule);
}

bool is_row_major(const DLTensor& tensor, const Shape& shape) {
  if (tensor.strides == nullptr || shape.numel() == 0) return true;
  const std::vector<std::int64_t> strides = row_major_strides(shape, 1);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] != 1 && tensor.strides[axis] != strides[static_cast<std::size_t>(axis)]) return false;
  }
  return true;
}

Tensor imported(nb::handle object) {
  if (is_tensor(object.ptr())) return tensor_in(object.ptr());
  if (!nb::hasattr(object, "__dlpack__"))
    throw_type_error("the object has no __dlpack__(): " + nb::cast<std::string>(nb::repr(object.type())));
  const nb::object capsule = object.attr("__dlpack__")();
  auto* const managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (managed == nullptr) throw nb::python_error();
  const DLTensor& tensor = managed->tensor;
  const auto dtype = type_of(tensor.dtype);
  if (tensor.device.type != dl_cpu) throw_type_error("only memory of the CPU can be shared");
  if (!dtype) throw_type_error("a tensor cannot share elements of this type");
  const Shape shape(std::span<const std::int64_t>(tensor.shape, static_cast<std::size_t>(tensor.ndim)));
  if (!is_row_major(tensor, shape)) throw_value_error("only arrays whose elements lie row by row can be shared");
  auto* const data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  check_aligned(data, *dtype);
  // Held as a Python object, whose end calls the other library on a thread of Python.
  const auto destroy = [](PyObject* kept) {
    auto* const taken = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(kept, "asyncgrad_dltensor"));
    if (taken != nullptr && taken->deleter != nullptr) taken->deleter(taken);
  };
  nb::object owner = nb::steal(PyCapsule_New(managed, "asyncgrad_dltensor", destroy));
  if (!owner.is_valid()) throw nb::python_error();
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");  // from here on it has one owner, whatever fails
  const HeldObject held(nb::make_tuple(owner, kept_memory(object)));
  return from_host_memory(data, *dtype, shape, [held] {});
}

}  // namespace

void bind_arrays(nb::module_& m, TensorClass& c) {
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
      "order.");
  m.def(
      "from_dlpack",
      [](nb::handle object) -> TensorObject { return nb::steal(new_object(imported(object), tensor_type)); },
      nb::arg("object"), "A tensor that shares the memory of an object with __dlpack__(), on the CPU.");
  c.def(
      "__dlpack__",
      [](nb::handle self, const nb::kwargs& options) {
        const Tensor& tensor = tensor_in(self.ptr());
        const auto option = [&](const char* name) {
          return options.contains(name) ? nb::object(options[name]) : nb::none();
        };
        const nb::object device = option("dl_device");
        if (!device.is_none() && !device.equal(nb::make_tuple(dl_cpu, 0)))
          throw nb::buffer_error("memory is shared on the CPU alone");
        if (!option("copy").is(Py_True)) return exported(tensor);
        const Location where = here();
        return exported(clone(Arg(tensor, where.file, where.line)));
      },
      "Shares the memory with another library, or gives it a copy with copy=True. Waits for the values.");
  c.def("__dlpack_device__", [](nb::handle) { return nb::make_tuple(dl_cpu, 0); });
}

}  // namespace asyncgrad::python
