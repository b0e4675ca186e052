// Functions of Python that run in operations.
#pragma once

#include <cstdint>

#include "nb.h"

namespace asyncgrad::python {

// False once the interpreter is about to end: then no thread may enter it.
bool interpreter_runs();
// Takes the interpreter's lock again, after PyEval_SaveThread(). A thread that comes too late for it, as the
// interpreter ends, blocks until the process has ended.
void take_lock_again(PyThreadState* state);
// Calls a function of the program with a tuple of arguments and a dict of named ones; null: it has raised. Its thread, too,
// blocks for good if the interpreter ends meanwhile.
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

}  // namespace asyncgrad::python
