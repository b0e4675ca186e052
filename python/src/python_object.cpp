// Python objects that the library's threads hold, and functions of Python that they call.

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "binding.h"
#include "dropped_objects.h"

namespace asyncgrad::python {

namespace {

std::atomic<bool> runs{true};
std::atomic<int> callbacks{0};

// What is to be released by a thread of Python.
struct Dropped {
  std::mutex mutex;
  std::vector<PyObject*> objects;
  std::atomic<bool> has_objects{false};
  bool is_scheduled = false;
};
Dropped& dropped() {
  static auto* const all = new Dropped;
  return *all;
}

int release_on_main_thread(void*) {
  {
    const std::lock_guard lock(dropped().mutex);
    dropped().is_scheduled = false;
  }
  release_dropped_objects();
  return 0;
}

// A destructor of Python may queue operations, and this may be called where the engine holds its lock. So the object
// goes when a thread of Python makes its next tensor or has waited, or when the main thread has the time. Neither alone
// is enough: the main thread may wait for another one, and the others may make no more tensors.
void drop_later(PyObject* object) {
  if (!runs.load()) return;
  const std::lock_guard lock(dropped().mutex);
  dropped().objects.push_back(object);
  dropped().has_objects.store(true, std::memory_order_relaxed);
  if (!dropped().is_scheduled && Py_AddPendingCall(release_on_main_thread, nullptr) == 0) dropped().is_scheduled = true;
}

}  // namespace

void release_dropped_objects() {
  if (!dropped().has_objects.load(std::memory_order_relaxed)) return;
  std::vector<PyObject*> objects;
  {
    const std::lock_guard lock(dropped().mutex);
    objects.swap(dropped().objects);
    dropped().has_objects.store(false, std::memory_order_relaxed);
  }
  for (PyObject* object : objects) Py_DECREF(object);
}

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
