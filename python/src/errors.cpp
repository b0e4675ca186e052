// Errors of the library become Python's. An error at a call has the kind that NumPy gives it. A later failure is an
// asyncgrad.Error, whose traceback ends at the line that queued the operation.
#include <new>
#include <stdexcept>

#include "callbacks.h"
#include "conversion.h"
#include "errors.h"
#include "module.h"
#include "tensor.h"
#include "thread_end.h"

namespace asyncgrad::python {

namespace {

PyObject* error_maker = nullptr;       // asyncgrad._errors._asynchronous
PyObject* exception_keeper = nullptr;  // asyncgrad._errors._keep

// The kind that NumPy gives to such a mistake.
PyObject* python_type(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::type:
      return PyExc_TypeError;
    case ErrorKind::index:
      return PyExc_IndexError;
    case ErrorKind::memory:
      return PyExc_MemoryError;
    default:
      return PyExc_ValueError;
  }
}

void set_async_error(const Error& given) {
  const Error::Parts& parts = given.parts();
  PyObject* const error =
      PyObject_CallFunction(error_maker, "ssssisO", given.what(), parts.operation.c_str(), parts.message.c_str(),
                            parts.file.c_str(), parts.line, parts.layer.c_str(), python_type(parts.cause));
  if (error == nullptr) return;
  PyObject* const traceback = PyException_GetTraceback(error);
  PyObject* const type = PyObject_Type(error);
  PyErr_Restore(type, error, traceback);
}

// A text of Python in UTF-8, in which what has no place there is escaped.
std::string utf8_of(nb::handle text) {
  const nb::object bytes = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
  char* data = nullptr;
  Py_ssize_t count = 0;
  if (!bytes.is_valid() || PyBytes_AsStringAndSize(bytes.ptr(), &data, &count) != 0) return "";
  return {data, static_cast<std::size_t>(count)};
}

}  // namespace

void set_python_error() noexcept {
  try {
    throw;
  } catch (const AsyncError& error) {
    set_async_error(error);
  } catch (const Interrupted&) {
    if (PyErr_Occurred() == nullptr) PyErr_SetNone(PyExc_KeyboardInterrupt);
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const Error& error) {
    // The first error of a Python function that backward() has called stays what it was.
    if (PyErr_Occurred() == nullptr) PyErr_SetString(python_type(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError, "there is not enough memory for what the call makes");
  } catch (const std::length_error&) {
    PyErr_SetString(PyExc_MemoryError, "a list of so many elements does not fit into memory");
  } catch (const nb::builtin_exception& error) {
    PyErr_SetString(error.type() == nb::exception_type::index_error   ? PyExc_IndexError
                    : error.type() == nb::exception_type::value_error ? PyExc_ValueError
                                                                      : PyExc_TypeError,
                    error.what());
  } catch (const std::bad_cast&) {
    if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_TypeError, failed_cast);
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

std::string text_of_exception(nb::handle kind, nb::handle raised) {
  std::string text = "an exception";
  if (kind.is_valid()) text = utf8_of(nb::getattr(kind, "__name__", nb::str("an exception")));
  if (!raised.is_valid()) return text;
  // A __str__ may raise.
  const nb::object shown = nb::steal(unless_interpreter_ends([&] { return PyObject_Str(raised.ptr()); }));
  PyErr_Clear();
  return shown.is_valid() ? text + ": " + utf8_of(shown) : text;
}

void throw_callback_error(const char* operation) {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  unless_interpreter_ends([&] { PyErr_NormalizeException(&type, &value, &traceback); });
  const nb::object kind = nb::steal(type), raised = nb::steal(value), trace = nb::steal(traceback);
  const std::string text = text_of_exception(kind, raised);
  if (raised.is_valid()) {
    if (trace.is_valid()) PyException_SetTraceback(raised.ptr(), trace.ptr());
    const nb::object kept = nb::steal(unless_interpreter_ends(
        [&] { return PyObject_CallFunction(exception_keeper, "ssO", operation, text.c_str(), raised.ptr()); }));
  }
  PyErr_Clear();
  throw Error(std::string("[") + operation + "] " + text);
}

void throw_no_tensor(PyObject* object) { throw_type_error("a tensor is asked for, not " + repr_of(object)); }
void throw_type_error(const std::string& text) { throw nb::type_error(text.c_str()); }
void throw_value_error(const std::string& text) { throw nb::value_error(text.c_str()); }
void throw_index_error(const std::string& text) { throw nb::index_error(text.c_str()); }

void bind_errors(nb::module_& m) {
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const Interrupted&) {
      set_python_error();
    } catch (const std::bad_cast&) {
      set_python_error();
    } catch (const std::bad_alloc&) {
      set_python_error();
    } catch (const std::length_error&) {
      set_python_error();
    } catch (const Error&) {
      set_python_error();
    }
  });
  m.def("_set_error_functions", [](nb::object maker, nb::object keeper) {
    error_maker = maker.release().ptr();
    exception_keeper = keeper.release().ptr();
  });
}

}  // namespace asyncgrad::python
