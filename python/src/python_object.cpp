// Python objects that the library's threads hold, and functions of Python that they call.

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "binding.h"

namespace asyncgrad::python {

namespace {

std::atomic<bool> runs{true};
std::atomic<int> callbacks{0};

// What is to be released by a thread of Python.
struct Dropped {
  std::mutex mutex;
  std::vector<PyObject*> objects;
  bool is_scheduled = false;
};
Dropped& dropped() {
  static auto* const all = new Dropped;
  return *all;
}

int release_dropped(void*) {
  std::vector<PyObject*> objects;
  {
    const std::lock_guard lock(dropped().mutex);
    objects.swap(dropped().objects);
    dropped().is_scheduled = false;
  }
  for (PyObject* object : objects) Py_DECREF(object);
  return 0;
}

// A destructor of Python may queue operations, and this may be called where the engine holds its lock.
void drop_later(PyObject* object) {
  if (!runs.load()) return;
  const std::lock_guard lock(dropped().mutex);
  dropped().objects.push_back(object);
  if (!dropped().is_scheduled && Py_AddPendingCall(release_dropped, nullptr) == 0) dropped().is_scheduled = true;
}

}  // namespace

HeldObject::HeldObject(nb::object object) : object_(object.release().ptr(), drop_later) {}
nb::handle HeldObject::get() const { return object_.get(); }

bool interpreter_runs() { return runs.load(); }

// Counted before the question: end_callbacks() forbids first and counts then.
PythonCallback::PythonCallback() {
  callbacks.fetch_add(1);
  may_run_ = runs.load();
  if (may_run_) state_ = PyGILState_Ensure();
}
PythonCallback::~PythonCallback() {
  if (may_run_) PyGILState_Release(state_);
  callbacks.fetch_sub(1);
}

// Before the interpreter ends: those that run end, and no other begins. Called with the interpreter's lock.
void end_callbacks() {
  runs.store(false);
  PyThreadState* const state = PyEval_SaveThread();
  while (callbacks.load() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  PyEval_RestoreThread(state);
}

}  // namespace asyncgrad::python
