#include "asyncgrad/core/engine/front_end/waiting.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include "asyncgrad/core/engine/run/execution.h"
#include "asyncgrad/core/engine/schedule/executors.h"
#include "asyncgrad/core/engine/threads/status.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/profile/profile.h"
#include "asyncgrad/core/wait_hooks.h"

namespace asyncgrad::detail {

namespace {

// How often a thread of another language that waits asks whether it is interrupted.
constexpr std::chrono::microseconds between_hooks{50'000};

// How long a thread whose operation the end of the process has dropped still waits: most processes are gone by then.
// One that is still there may wait for this thread.
constexpr std::chrono::seconds patience_at_exit{5};

constinit thread_local bool has_stayed_at_exit = false;

// Where the end of the process has dropped the operation, sleeps once for that time.
void stay_at_exit(ProgramQueue& queue, const Goal& goal) {
  if (!queue.context().waiters.have_ended() || queue.context().ring.reached(goal)) return;
  if (!std::exchange(has_stayed_at_exit, true)) std::this_thread::sleep_for(patience_at_exit);
}

[[noreturn]] void throw_dropped() {
  throw_error("engine", "the end of the process has dropped the operation that this wait is for");
}

// Seconds that the calling thread has waited, or computed while it waited.
constinit thread_local double waited_s = 0;

// The executor that runs the awaited operation, if it has threads; otherwise any.
Executor& executor_to_help(ProgramQueue& queue, const Goal& goal) {
  const auto executors = queue.context().executors.all();
  if (executors.size() == 1) return *executors[0];
  const SpinLockGuard lock(queue.lock());  // under the lock no entry is given to another operation
  const std::uint64_t number = goal.all ? queue.context().ring.oldest().load(std::memory_order_seq_cst) : goal.number;
  const Operation& operation = queue.context().ring.at(number);
  if (number == 0 || number >= queue.next_number() || operation.number != number) return *executors[0];
  Executor& executor = executor_of(operation);
  return executor.is_asynchronous() ? *executors[0] : executor;
}

// While it lives, executors prefer what the goal depends on, if that is one operation.
class Preference {
 public:
  Preference(ProgramQueue& queue, const Goal& goal)
      : queue_(queue), is_on_(!goal.all && queue.begin_preference(goal.number)) {}
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  ~Preference() {
    if (is_on_) queue_.end_preference();
  }
  bool is_on() const { return is_on_; }

 private:
  ProgramQueue& queue_;
  const bool is_on_;
};

// A thread that sets options finishes everything and waits for visitors before it destroys executors: either it sees
// this visit, or this thread sees that everything is finished.
void help_workers(ProgramQueue& queue, const Goal& goal, std::uint64_t limit) {
  const Executors::WaitingVisit visit(queue.context().executors);
  if (queue.context().ring.reached(goal)) return;
  Executor& executor = executor_to_help(queue, goal);
  queue.offer_staged(&executor);
  const Preference preference(queue, goal);
  executor.workers().help(goal, limit);
}

// Threads of another language compute single tiles, and what is awaited and brief, so that they can answer its
// interrupts. This thread is no visitor while a hook runs: the hook may wait for the language's lock, and the
// thread that has this lock may set options, which waits for visitors.
void sleep_between_hooks(ProgramQueue& queue, const Goal& goal, std::uint64_t limit, const WaitHooks& hooks) {
  using std::chrono::steady_clock;
  std::optional<Executors::WaitingVisit> visit(std::in_place, queue.context().executors);
  if (queue.context().ring.reached(goal)) return;
  queue.offer_staged();
  const bool may_ask = may_interrupt();
  const auto is_interrupted = [&] {
    if (!may_ask) return false;
    visit.reset();
    const bool interrupted = hooks.is_interrupted();
    visit.emplace(queue.context().executors);
    return interrupted;
  };
  // Looks for tiles first: falling asleep is not worth it for an operation that is about to finish.
  constexpr auto patience = std::chrono::microseconds(20);
  auto now = steady_clock::now(), asked = now;
  Executor* executor = &executor_to_help(queue, goal);
  for (auto end = now + patience; now < end; now = steady_clock::now()) {
    for (int look = 0; look < 8; ++look) {
      if (queue.context().waiters.is_over(goal)) return;
      pause_briefly();
    }
    if (executor->workers().compute_tile(goal, limit)) end = steady_clock::now() + patience;
    if (now - asked < between_hooks) continue;
    if (is_interrupted()) throw Interrupted();
    asked = now;
    executor = &executor_to_help(queue, goal);  // the hook may have set options
  }
  const Preference preference(queue, goal);
  if (preference.is_on()) executor_to_help(queue, goal).workers().compute_awaited(goal);
  ThreadStatus::set(ThreadStatus::Doing::waiting, goal.number);
  const bool is_reached = queue.context().waiters.sleep_until(goal, is_interrupted);
  ThreadStatus::set(ThreadStatus::Doing::nothing);
  if (!is_reached) throw Interrupted();
}

// A hook may end the thread, which unwinds its stack: nothing here runs as a destructor that calls one, and no hook is
// called after it. All other exceptions are thrown after the last hook.
void wait_for_workers(ProgramQueue& queue, const Goal& goal, std::uint64_t limit, const WaitHooks& hooks) {
  std::exception_ptr failure;
  hooks.begin();
  try {
    sleep_between_hooks(queue, goal, limit, hooks);
    stay_at_exit(queue, goal);
  } catch (const std::exception&) {  // not what ends a thread, which is none
    failure = std::current_exception();
  }
  hooks.end();
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace

void wait_until(ProgramQueue& queue, const Goal& goal, std::uint64_t limit) {
  InOperation::forbid("a wait");  // also if the goal is reached, which would depend on time
  const ExecutorContext& context = queue.context();
  if (context.ring.reached(goal)) return;
  // A static destructor, for example, may call this, and its wait would not end.
  if (context.run_state.is_exiting_here()) throw_dropped();
  const profile::WaitSpan span;
  const auto start = std::chrono::steady_clock::now();
  if (const WaitHooks* const hooks = wait_hooks(); hooks != nullptr) {
    wait_for_workers(queue, goal, limit, *hooks);
  } else {
    help_workers(queue, goal, limit);
    stay_at_exit(queue, goal);
  }
  waited_s += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (context.waiters.have_ended() && !context.ring.reached(goal)) throw_dropped();
}

// It looks again and again instead of being called: threads rarely want the engine idle.
void stand_back(ProgramQueue& queue, std::int64_t patience_us) {
  using std::chrono::microseconds;
  constexpr microseconds longest_pause{2000};
  const auto start = std::chrono::steady_clock::now(), end = start + microseconds(patience_us);
  const profile::WaitSpan span;
  const WaitHooks* const hooks = wait_hooks();
  const bool may_ask = hooks != nullptr && may_interrupt();
  bool is_interrupted = false;
  if (hooks != nullptr) hooks->begin();
  auto now = start, asked = start;
  for (microseconds pause(20); !is_interrupted && queue.is_idle_wanted() && now < end;) {
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, longest_pause);
    now = std::chrono::steady_clock::now();
    if (may_ask && now - asked >= between_hooks) {
      is_interrupted = hooks->is_interrupted();
      asked = now;
    }
  }
  if (hooks != nullptr) hooks->end();
  waited_s += std::chrono::duration<double>(now - start).count();
  if (is_interrupted) throw Interrupted();
}

void catch_up(ProgramQueue& queue, Executor& executor) {
  const std::uint64_t next = queue.next_number();
  const profile::WaitSpan span;
  const Executors::WaitingVisit visit(queue.context().executors);
  executor.workers().compute_briefly({.number = next, .all = true}, next - 1);
}

double waited_seconds() { return waited_s; }

}  // namespace asyncgrad::detail
