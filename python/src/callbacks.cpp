// Functions of Python that run in operations: on the library's threads, across a fork, and at the end of the process.

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "asyncgrad/core/forks.h"
#include "asyncgrad/core/wait_hooks.h"
#include "callbacks.h"
#include "dropped_objects.h"
#include "module.h"
#include "thread_end.h"

namespace asyncgrad::python {

namespace {

using Clock = std::chrono::steady_clock;

std::atomic<bool> runs{true};
// Functions that run, or are about to ask whether they may. Negative once the end of the process has left them behind.
std::atomic<int> callbacks{0};
std::atomic<int> sources{0};  // those of them that are sources
constexpr int left_behind = -(1 << 30);
thread_local bool is_callback_here = false;

// The counts of threads that fork, and of threads that queue functions. Under the interpreter's lock.
int forks = 0, queueing = 0;
thread_local int forks_here = 0;                        // a signal's handler may fork in the wait of a fork
thread_local int queueing_here = 0;                     // a destructor of Python may run there, which forks or queues
thread_local nb::python_error* interruption = nullptr;  // what ended the wait for the fork that is under way

void sleep_without_lock() {
  PyThreadState* const state = PyEval_SaveThread();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  take_lock_again(state);
}

}  // namespace

void take_lock_again(PyThreadState* state) {
  unless_interpreter_ends([state] { PyEval_RestoreThread(state); });
}

bool interpreter_runs() { return runs.load(); }

int PythonCallback::count(int difference) const {
  if (is_source_) sources.fetch_add(difference);
  return callbacks.fetch_add(difference);
}

// It counts itself and then asks `runs` again; end_callbacks() clears `runs` and then reads the count. So either this sees
// that it may not run, or end_callbacks() sees it counted. A refused callback is counted only between these two steps.
PythonCallback::PythonCallback(Kind kind) : is_source_(kind == Kind::source) {
  if (!runs.load()) return;
  count(1);
  may_run_ = runs.load();
  if (!may_run_) {
    count(-1);
    return;
  }
  state_ = unless_interpreter_ends([] { return PyGILState_Ensure(); });
  is_callback_here = true;
}

// One that the end of the process has left behind is counted for good, and does not come back.
PythonCallback::~PythonCallback() {
  if (!may_run_) return;
  is_callback_here = false;
  unless_interpreter_ends([this] { PyGILState_Release(state_); });
  if (count(-1) <= 0) block_for_good();
}

PyObject* call_python(nb::handle function, nb::handle arguments, nb::handle named) {
  return unless_interpreter_ends([&] { return PyObject_Call(function.ptr(), arguments.ptr(), named.ptr()); });
}

// --- Forks. A function may want the locks that CPython holds while it forks: of imports, of logging. So they are
// waited for before that, and until the fork is done no other thread queues one.

QueuesCallback::QueuesCallback() {
  while (forks > 0 && forks_here == 0) {
    sleep_without_lock();
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  ++queueing;
  ++queueing_here;
}
QueuesCallback::~QueuesCallback() {
  --queueing;
  --queueing_here;
}

namespace {

void wait_for_functions() {
  for (;;) {
    mark().wait();
    if (queueing == queueing_here) break;
    sleep_without_lock();
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  mark().wait();
}

// CPython forks whatever this does. So where a signal's handler raises in the wait, as Ctrl-C does where a function
// waits for what comes after the fork, the fork waits no more: its child ends at once, and the parent gets the
// exception. A function that forks itself cannot wait for the others, and its child can do little but start another
// program.
void before_fork() {
  if (is_callback_here || !runs.load()) return;
  ++forks;
  ++forks_here;
  try {
    wait_for_functions();
  } catch (const Interrupted&) {  // Python's error is set
    interruption = new nb::python_error();
  } catch (nb::python_error& error) {
    interruption = new nb::python_error(std::move(error));
  }
  if (interruption != nullptr) set_forks_wait(false);
}

int raise_interruption(void* given) {
  const std::unique_ptr<nb::python_error> error(static_cast<nb::python_error*>(given));
  error->restore();
  return -1;
}

void after_fork_in_parent() {
  if (forks_here > 0) {
    --forks_here;
    --forks;
  }
  set_forks_wait(true);
  nb::python_error* const error = std::exchange(interruption, nullptr);
  if (error != nullptr && Py_AddPendingCall(raise_interruption, error) != 0) delete error;
}

// No other thread exists.
void after_fork_in_child() {
  if (interruption != nullptr) _exit(1);
  forks = 0;
  queueing = queueing_here;
  forks_here = 0;
  sources.store(0);
  callbacks.store(is_callback_here ? 1 : 0);
  forget_scheduled_release();
}

// --- The end of the process. Functions that have started end first, but a source, which nobody waits for any more and
// which may block for good, has a second for it. An interrupt ends the wait, too.
void end_callbacks() {
  runs.store(false);
  constexpr auto patience = std::chrono::seconds(1);
  const auto end = Clock::now() + patience;
  bool is_interrupted = false;
  while (!is_interrupted && callbacks.load() > (Clock::now() < end ? 0 : sources.load())) {
    sleep_without_lock();
    is_interrupted = PyErr_CheckSignals() != 0;
  }
  if (const int count = callbacks.exchange(left_behind); count > 0) abandon_operations(count);
  set_wait_hooks(nullptr);
  if (is_interrupted) throw nb::python_error();
}

}  // namespace

void bind_callbacks(nb::module_& m) {
  m.def("_end", &end_callbacks);
  m.def("_before_fork", &before_fork);
  m.def("_after_fork_in_parent", &after_fork_in_parent);
  m.def("_after_fork_in_child", &after_fork_in_child);
}

}  // namespace asyncgrad::python
