// The declarations that the files of the Python binding share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "asyncgrad/asyncgrad.h"

namespace asyncgrad::python {

namespace nb = nanobind;

// Objects whose class the stubs name.
using TensorObject = nb::typed<nb::object, Tensor>;
using TensorObjects = nb::typed<nb::list, Tensor>;
using Extents = nb::typed<nb::tuple, int, nb::ellipsis>;

// --- tensor.cpp: the type asyncgrad.Tensor.

extern PyTypeObject* tensor_type;

inline bool is_tensor(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  return type == tensor_type || PyType_IsSubtype(type, tensor_type) != 0;
}
[[noreturn]] void throw_no_tensor(PyObject* object);
[[noreturn]] void throw_type_error(const std::string& text);
inline Tensor& tensor_in(PyObject* object) {
  if (!is_tensor(object)) throw_no_tensor(object);
  Tensor& tensor = *nb::inst_ptr<Tensor>(object);
  if (!tensor.defined()) throw_type_error("a tensor that holds nothing; assign one with values to it first");
  return tensor;
}
// A new Python object of the given class, which is Tensor or derived from it.
PyObject* new_object(Tensor&& tensor, PyTypeObject* type);

// --- tensor_classes.cpp: classes of tensors for other libraries' names.

// The rules that operations follow whose result has the class.
struct ClassRules {
  PyTypeObject* type = nullptr;
  // A number takes the type of the tensor beside it, and of two types the floating one wins; else as in NumPy.
  bool keeps_types = false;
  bool records_on_request = false;      // recorded for backward() only while is_recording_requested(); else always
  bool takes_floating_indices = false;  // indices may be whole numbers of a floating type
};
const ClassRules& registered_rules_of(PyTypeObject* type);  // the default ones for a class that is not registered
inline const ClassRules& rules_of(PyTypeObject* type) {
  static constexpr ClassRules of_tensor{};
  return type == tensor_type ? of_tensor : registered_rules_of(type);
}
bool is_recording_requested();  // by this thread

// --- operators.cpp: the slots of the operators, without the row of zeros at the end.

std::vector<PyType_Slot> operator_slots();
// a ** b, one of which is a tensor; NotImplemented if the other one is no operand.
PyObject* power(PyObject* a, PyObject* b) noexcept;

// --- location.cpp: where in the program the running call is.

// The innermost line of Python that is not the package's own. Its file's name is kept for good.
Location here();

// --- errors.cpp

// An error of an operation that failed after it was queued; it becomes asyncgrad.Error.
class AsyncError : public Error {
 public:
  explicit AsyncError(const Error& error) : Error(error) {}
};
// The text of the error if nanobind's cast of an object has failed. refused_calls.cpp says which argument it is.
inline constexpr const char* failed_cast = "an argument is of another type than is asked for";
// Sets Python's error for the exception that is being handled.
void set_python_error() noexcept;
// "KeyError: 'x'", of a class and of an object of it; either may be null. While no error of Python is set.
std::string text_of_exception(nb::handle kind, nb::handle raised);
[[noreturn]] void throw_value_error(const std::string& text);
[[noreturn]] void throw_index_error(const std::string& text);

// Calls the function, which waits for values: its Errors are those of operations.
template <class Function>
decltype(auto) waiting(Function&& function) {
  try {
    return std::forward<Function>(function)();
  } catch (const Error& error) {
    throw AsyncError(error);
  }
}

// Runs a slot's body, whose exceptions become Python's.
template <class Function>
PyObject* guarded(Function&& function) noexcept {
  try {
    return std::forward<Function>(function)();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

// Runs the body of a slot that returns a number, of which -1 says that Python's error is set.
template <class Function>
auto guarded_number(Function&& function) noexcept -> decltype(function()) {
  try {
    return std::forward<Function>(function)();
  } catch (...) {
    set_python_error();
    return -1;
  }
}

// --- dtypes.cpp: element types.

DType dtype_from(nb::handle object);  // asyncgrad.float32, "float32", numpy.float32, numpy.dtype("float32"), float
nb::object dtype_object(DType dtype);
// The nearest type that tensors have for a type of NumPy's, by its name; nothing for complex numbers and the like.
std::optional<DType> tensor_type_of(std::string_view numpy_name);
// The type that array() and full() give a number: Python's floats get the default type, and NumPy's numbers keep their
// type.
DType natural_type(nb::handle object, const Scalar& number);

// The type that NumPy computes in: of two types, and of a type and a number.
DType promoted(DType a, DType b);
DType promoted(DType a, const Scalar& number);
DType floating_of(DType dtype);  // float64 for integers, the default type for bool
DType comparable(DType dtype);   // int64 for narrower integers, float32 for bfloat16: the types that have arithmetic
// The same for a class that keeps types: the floating one beside an integer; a number takes the tensor's type.
DType kept(DType a, DType b);
DType kept(DType a, const Scalar& number);

// --- conversion.cpp: conversions of Python's arguments.

// Whether the object is a device rather than a type: a text that begins with a kind of device, or an object that has
// one.
bool is_device(nb::handle object);
Device device_from(nb::handle object);  // "cpu:1", or an object whose __asyncgrad_device__ is such a text
Device device_or_default(nb::handle object);
std::string text_of(nb::handle object);  // str(object); UnicodeEncodeError for one that UTF-8 does not know
// repr(object) for a message: its beginning if it is long, and "an integer of 1329 bits" in place of a large one, which
// Python may refuse to write.
std::string repr_of(nb::handle object);
std::string path_from(nb::handle object);  // a text, bytes or an object with __fspath__(); without a NUL
// An integer or a sequence of them, each of which is `what` in errors.
Shape shape_from(nb::handle object, const char* what = "an extent");
Shape reshaped(const Tensor& x, nb::handle shape);  // one extent may be -1
Shape shape_of_args(const nb::args& args);          // f(2, 3) or f((2, 3))
Extents tuple_of(const Shape& shape);
std::optional<Scalar> number_from(PyObject* object, const Location& where);  // a Python or NumPy number
// The same for a value of a type: a floating one rounds integers of any size.
std::optional<Scalar> number_in(DType dtype, PyObject* object, const Location& where);
// The same for an operand beside a tensor: True beside bool is no number, as it is bool itself.
std::optional<Scalar> number_beside(DType beside, PyObject* object, const Location& where);
// The number that one of these read from `object`. Throws TypeError, naming `what`, if it is none.
Scalar required_number(const std::optional<Scalar>& number, nb::handle object, const char* what);
std::int64_t integer_from(nb::handle object, const char* what);
double float_from(nb::handle object, const char* what);  // an integer is rounded
int axis_from(nb::handle object);
// The axes of a reduction, or nothing for None.
std::optional<std::vector<int>> axes_from(nb::handle object);
// The same; all axes of a tensor of that rank for None.
std::vector<int> axes_or_all(nb::handle object, int rank);
Axes axes_of(const std::vector<int>& axes);
// The items of a list, a tuple or another object that can be iterated. Throws TypeError for any other object, which says
// that a list of `what`, such as "tensors", is asked for.
std::vector<nb::object> items_from(nb::handle object, const char* what);
std::vector<Tensor> tensors_from(nb::handle sequence);
// A tensor, or the result of array() for another object.
Tensor tensor_from(nb::handle object);
// The same; Tensor{} for None.
inline Tensor tensor_or_none(nb::handle object) { return object.is_none() ? Tensor() : tensor_from(object); }
// The same for an operand beside another one, on whose device it is made.
Tensor tensor_beside(const Tensor& other, nb::handle object);
// Throws Error if the type cannot hold the number; floating types round integers.
void check_holds_number(const Scalar& number, DType dtype, const char* operation);
// A floating number without its fraction. Throws ValueError if an int64 cannot hold it.
std::int64_t whole_part(double number);

// --- A call with the operands' class, line and mode.

class Call {
 public:
  // The result has the class of the first operand.
  explicit Call(PyTypeObject* type) : type_(type), rules_(rules_of(type)), where_(here()) {
    if (rules_.records_on_request && !is_recording_requested()) unrecorded_.emplace();
  }
  explicit Call(nb::handle operand) : Call(is_tensor(operand.ptr()) ? Py_TYPE(operand.ptr()) : tensor_type) {}
  const Location& where() const { return where_; }
  Arg arg(const Tensor& tensor) const { return Arg(tensor, where_); }
  Scalar scalar(double value) const { return Scalar(value, where_); }
  Scalar scalar(std::int64_t value) const { return Scalar(value, where_); }
  const ClassRules& rules() const { return rules_; }
  // The type to compute in, and the number as that type takes it.
  DType promoted(DType a, DType b) const { return rules_.keeps_types ? kept(a, b) : python::promoted(a, b); }
  DType promoted(DType a, const Scalar& number) const {
    return rules_.keeps_types ? kept(a, number) : python::promoted(a, number);
  }
  Scalar number(const Scalar& given, DType dtype) const {
    if (!rules_.keeps_types || is_floating(dtype) || given.is_integer()) return given;
    return scalar(whole_part(given.as_double()));
  }
  TensorObject result(Tensor&& tensor) const { return nb::steal(new_object(std::move(tensor), type_)); }
  // The object `x` itself if the library gave its tensor back.
  TensorObject result_or_same(nb::handle x, Tensor&& tensor) const {
    return tensor.impl() == tensor_in(x.ptr()).impl() ? nb::borrow(x) : result(std::move(tensor));
  }
  TensorObjects results(std::vector<Tensor>&& tensors) const;

 private:
  PyTypeObject* type_;
  const ClassRules& rules_;
  Location where_;
  std::optional<NoGrad> unrecorded_;
};

// --- python_object.cpp: Python objects that the library's threads hold.

// Keeps an object alive. Any thread may copy and destroy it, also without the interpreter's lock; a thread of Python
// releases the object later.
class HeldObject {
 public:
  HeldObject() = default;
  explicit HeldObject(nb::object object);
  nb::handle get() const;

 private:
  std::shared_ptr<void> held_;
};

// --- callbacks.cpp: functions of Python that run in operations.

// False once the interpreter is about to end: then no thread may enter it.
bool interpreter_runs();
// Takes the interpreter's lock again, after PyEval_SaveThread(). A thread that comes too late for it, as the
// interpreter ends, blocks until the process has ended.
void take_lock_again(PyThreadState* state);
// Calls a function of the program with a tuple of arguments and a dict of named ones; null: it has raised. The same is
// true of its thread.
PyObject* call_python(nb::handle function, nb::handle arguments, nb::handle named = {});
// While it lives the calling thread queues an operation in which a function of Python runs; a fork waits for that.
// It must be made before the operation is queued.
class QueuesCallback {
 public:
  QueuesCallback();
  QueuesCallback(const QueuesCallback&) = delete;
  QueuesCallback& operator=(const QueuesCallback&) = delete;
  ~QueuesCallback();
};
// A function of Python runs in a thread of the library for as long as this lives, unless the interpreter ends.
class PythonCallback {
 public:
  enum class Kind : std::uint8_t { operation, source };
  explicit PythonCallback(Kind kind);
  PythonCallback(const PythonCallback&) = delete;
  PythonCallback& operator=(const PythonCallback&) = delete;
  ~PythonCallback();
  // False if the interpreter ends: the operation is dropped then, as are those that have not started.
  bool may_run() const { return may_run_; }

 private:
  int count(int difference) const;  // returns the count before

  bool is_source_, may_run_ = false;
  PyGILState_STATE state_{};
};
// Throws the Python error that is set as an Error with its type and text. The exception itself is kept for the
// asyncgrad.Error that a wait will raise.
[[noreturn]] void throw_callback_error(const char* operation);

// --- custom.cpp: for the garbage collector, the functions that end with this tensor: they give its gradient, or
// compute it again.

int visit_own_functions(const Tensor& tensor, visitproc visit, void* arg);

// --- custom.cpp

// Arrays of NumPy over the first `count` outputs of a call, valid until it returns.
nb::list output_views(const CustomCall& call, int count);

// --- indexing.cpp

PyObject* item_of(PyObject* self, PyObject* key) noexcept;
PyObject* row_at(PyObject* self, Py_ssize_t row);
int set_item(PyObject* self, PyObject* key, PyObject* value) noexcept;

// --- arrays.cpp: buffers and NumPy.

struct PythonBuffer;  // Py_buffer, which the limited API has from 3.11 on
int get_buffer(PyObject* self, PythonBuffer* view, int flags);
void release_buffer(PyObject* self, PythonBuffer* view);
Tensor array_copy(nb::handle object, nb::handle dtype, Device device);
Tensor from_buffer(nb::handle object);  // shares memory
// An array of NumPy over memory of `owner`.
nb::object numpy_view(void* data, DType dtype, const Shape& shape, nb::handle owner, bool writable);
// The address of the tensor's values, for which it waits; not null if there are none.
void* address_of(const Tensor& tensor);
void* address_in(const Tensor& tensor, void* (*address)(const Tensor&));  // host_data or device_data
// The distance from element to element along each axis, in multiples of `unit`.
std::vector<std::int64_t> row_major_strides(const Shape& shape, std::int64_t unit);
// Throws ValueError unless the memory is aligned to its elements: kernels read whole ones at a time.
void check_aligned(const void* data, DType dtype);
// Throws ValueError for bools that are not stored as 0 or 1.
void check_truths(const void* data, DType dtype, const Shape& shape);
// Keeps the memory of an object, and its extent: NumPy does not resize an array that has weak references.
nb::object kept_memory(nb::handle object);

// --- waits.cpp

// Forgets which lines have waited.
void forget_blockers();

// --- Parts of the module.

using TensorClass = nb::class_<Tensor>;
void bind_errors(nb::module_& m);
void bind_warnings(nb::module_& m);
TensorClass bind_tensor(nb::module_& m);
void bind_tensor_classes(nb::module_& m);
void bind_recurrent_functions(nb::module_& m);
void bind_elementwise(nb::module_& m, TensorClass& tensor);
void bind_reductions(nb::module_& m, TensorClass& tensor);
void bind_shapes(nb::module_& m, TensorClass& tensor);
void bind_selection(nb::module_& m, TensorClass& tensor);
void bind_products(nb::module_& m, TensorClass& tensor);
void bind_losses(nb::module_& m);
void bind_layer_functions(nb::module_& m);
void bind_gradients(nb::module_& m, TensorClass& tensor);
void bind_copies(nb::module_& m, TensorClass& tensor);
void bind_creation(nb::module_& m);
void bind_convolution_functions(nb::module_& m);
void bind_pooling_functions(nb::module_& m);
void bind_dtypes(nb::module_& m);
void bind_indexing(nb::module_& m);
void bind_arrays(nb::module_& m);
void bind_dlpack(nb::module_& m, TensorClass& tensor);
void bind_engine(nb::module_& m);
void bind_waits(nb::module_& m);
void bind_scopes(nb::module_& m);
void bind_initialisers(nb::module_& m);
void bind_optimizers(nb::module_& m);
void bind_dist(nb::module_& m);
void bind_schedules(nb::module_& m);
void bind_members(nb::module_& m);
void bind_files(nb::module_& m);
void bind_batches(nb::module_& m);
void bind_custom(nb::module_& m);
void bind_callbacks(nb::module_& m);
void bind_layers(nb::module_& m);
void bind_experiment(nb::module_& m);
// The last one: it is about the functions that the others have made.
void bind_refused_calls(nb::module_& m);

}  // namespace asyncgrad::python
