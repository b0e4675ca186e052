// Python objects that the library's threads hold.

#include <atomic>

#include "callbacks.h"
#include "dropped_objects.h"
#include "python_object.h"

namespace asyncgrad::python {

namespace {

// An object that the library holds. After that it is in the list of those that a thread of Python is to release. The
// list has no lock: any thread may push, also while another one forks, and who takes takes all.
struct Held {
  PyObject* object;
  Held* next = nullptr;
};
std::atomic<Held*> dropped{nullptr};
// Whether the main thread is going to look at the list. Acquire-release: either the main thread sees what was pushed
// before it was found scheduled, or it is scheduled again.
std::atomic<bool> is_scheduled{false};

int release_on_main_thread(void*) {
  is_scheduled.exchange(false, std::memory_order_acq_rel);
  release_dropped_objects();
  return 0;
}

// A destructor of Python may queue operations, and this may be called where the engine holds its lock. So the object
// goes when a thread of Python makes its next tensor or has waited, or when the main thread has the time. Neither alone
// is enough: the main thread may wait for another one, and the others may make no more tensors.
void drop_later(Held* held) {
  if (!interpreter_runs()) return;
  held->next = dropped.load(std::memory_order_relaxed);
  // Release: who takes the list sees what is in it.
  while (!dropped.compare_exchange_weak(held->next, held, std::memory_order_release, std::memory_order_relaxed)) {
  }
  if (!is_scheduled.exchange(true, std::memory_order_acq_rel) &&
      Py_AddPendingCall(release_on_main_thread, nullptr) != 0) {
    is_scheduled.store(false, std::memory_order_release);
  }
}

}  // namespace

void release_dropped_objects() {
  if (dropped.load(std::memory_order_relaxed) == nullptr) return;
  for (Held* held = dropped.exchange(nullptr, std::memory_order_acquire); held != nullptr;) {
    const Held* const taken = std::exchange(held, held->next);
    PyObject* const object = taken->object;
    delete taken;
    Py_DECREF(object);  // which may do anything
  }
}

void forget_scheduled_release() { is_scheduled.store(false, std::memory_order_relaxed); }

HeldObject::HeldObject(nb::object object)
    : held_(new Held{object.release().ptr()}, [](void* held) { drop_later(static_cast<Held*>(held)); }) {}
nb::handle HeldObject::get() const { return static_cast<const Held*>(held_.get())->object; }

}  // namespace asyncgrad::python
