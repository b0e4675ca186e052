// Waits: the interpreter's lock is released, signals are answered, and the time is put down to the line.
#include <chrono>
#include <map>
#include <utility>

#include "asyncgrad/core/wait_hooks.h"
#include "call.h"
#include "callbacks.h"
#include "conversion.h"
#include "dropped_objects.h"
#include "errors.h"
#include "module.h"
#include "thread_end.h"
#include "waits.h"

namespace asyncgrad::python {

namespace {

using Clock = std::chrono::steady_clock;

struct Waiting {
  PyThreadState* state = nullptr;
  Location where;
  Clock::time_point begin;
};
thread_local Waiting waiting_here;

struct Blocker {
  double seconds = 0;
  std::int64_t waits = 0;
};
// By the line that waited. Under the interpreter's lock.
std::map<std::pair<const char*, int>, Blocker>& blockers() {
  static auto* const all = new std::map<std::pair<const char*, int>, Blocker>;
  return *all;
}

void begin_wait() {
  waiting_here.where = here();
  waiting_here.begin = Clock::now();
  waiting_here.state = PyEval_SaveThread();
}
void end_wait() {
  const double seconds = std::chrono::duration<double>(Clock::now() - waiting_here.begin).count();
  take_lock_again(waiting_here.state);
  Blocker& blocker = blockers()[{waiting_here.where.file, waiting_here.where.line}];
  blocker.seconds += seconds;
  ++blocker.waits;
}
bool is_interrupted() {
  take_lock_again(waiting_here.state);
  const Waiting outer = waiting_here;  // a handler of signals may wait, too
  const bool interrupted = unless_interpreter_ends([] { return PyErr_CheckSignals() != 0; });
  waiting_here = outer;
  waiting_here.state = PyEval_SaveThread();
  return interrupted;
}
constexpr WaitHooks hooks{.begin = begin_wait, .end = end_wait, .is_interrupted = is_interrupted};

}  // namespace

void forget_blockers() { blockers().clear(); }

void bind_waits(nb::module_& m) {
  set_wait_hooks(&hooks);
  m.def(
      "wait_all",
      [](nb::handle device) {
        if (device.is_none()) {
          waiting([] { wait_all(); });
        } else {
          const Device one = device_from(device);
          waiting([one] { wait_all(one); });
        }
        release_dropped_objects();
      },
      nb::arg("device") = nb::none(),
      "Waits until everything is finished, or everything that was queued so far on the device that is named. "
      "Raises the oldest error that no wait has raised yet.");
  nb::class_<Mark>(m, "Mark", "A position in the program's order; see mark().")
      .def("wait", &Mark::wait, "Waits until everything queued before the mark is finished.");
  m.def("mark", &mark, "The position behind everything that is queued so far.");
  m.def("_blockers", [] {
    nb::list rows;
    for (const auto& [place, blocker] : blockers()) {
      rows.append(
          nb::make_tuple(place.first == nullptr ? "" : place.first, place.second, blocker.seconds, blocker.waits));
    }
    return rows;
  });
  m.def("_forget_blockers", &forget_blockers);
}

}  // namespace asyncgrad::python
