// Errors between the library and Python.
#pragma once

#include <string>
#include <utility>

#include "asyncgrad/core/error.h"
#include "nb.h"

namespace asyncgrad::python {

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
// Throws the Python error that is set as an Error with its type and text. The exception itself is kept for the
// asyncgrad.Error that a wait will raise.
[[noreturn]] void throw_callback_error(const char* operation);
[[noreturn]] void throw_no_tensor(PyObject* object);
[[noreturn]] void throw_type_error(const std::string& text);
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

}  // namespace asyncgrad::python
