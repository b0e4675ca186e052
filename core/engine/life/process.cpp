#include "asyncgrad/core/engine/life/process.h"

#include <chrono>
#include <cstdio>
#include <thread>

#include "asyncgrad/core/engine/run/execution.h"
#include "asyncgrad/core/engine/threads/status.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/forks.h"
#include "asyncgrad/core/sync/fork_locks.h"
#include "asyncgrad/core/wait_hooks.h"

namespace asyncgrad::detail {

namespace {

void report_unwritten(const char* how) {
  std::fprintf(stderr, "asyncgrad: the process ended %s, before all files were written that were to be saved\n", how);
}

constinit thread_local bool has_waited_to_fork = false;

}  // namespace

// Not inside an operation, for which it might wait, nor once the process ends, as the wait would not end. fork() can pass
// no exception on.
void Process::before_fork() {
  has_waited_to_fork = false;
  if (InOperation::is_here() || !forks_wait() || run_state_.is_exiting()) return;
  const Uninterrupted uninterrupted;
  try {
    lock_when_idle(queue_);
  } catch (const Error&) {
    return;  // the process ends meanwhile
  }
  has_waited_to_fork = true;
  for (const auto& executor : context_.executors.all()) executor->workers().hold_still();
  context_.waiters.hold_still();
  ForkLocks::lock_all();
}

void Process::after_fork(bool in_child) {
  if (!has_waited_to_fork) {
    if (in_child) run_state_.begin_exit();
    return;
  }
  ForkLocks::unlock_all();
  context_.waiters.let_go_on();
  if (in_child) {
    context_.waiters.forget_threads();
    context_.ring.awaited().forget_threads();
    context_.executors.forget_threads();
    queue_.forget_threads();
  }
  for (const auto& executor : context_.executors.all()) {
    executor->workers().let_go_on();
    if (in_child) executor->workers().forget_threads();
  }
  if (in_child) ThreadStatus::forget_other_threads();
  queue_.lock().unlock();
}

// A signal handler may call this after it has interrupted any function of the engine outside of a seat. So it takes no
// lock and computes nothing. It ends as every wait does: workers compute what is needed. None of that is staged, because
// operations that files depend on are never tiny. A worker that has missed its call, which the interrupted thread has
// answered, is called again.
void Process::compute_needed() {
  const Goal goal{.number = run_state_.needed_before_exit(), .all = true};
  if (context_.ring.reached(goal)) return;
  // The operation that the thread is in may be one of them.
  if (InOperation::is_here() || Workers::compute_here()) {
    report_unwritten("inside an operation");
    return;
  }
  const Executors::WaitingVisit visit(context_.executors);
  while (!context_.ring.reached(goal)) {
    if (abandoned_operations() > 0) {
      report_unwritten("with a function of the program that had not returned");
      return;
    }
    for (const auto& executor : context_.executors.all()) {
      if (executor->has_ready()) executor->workers().notify(1);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

// No operation has started while executors are replaced, and none starts after the exit has begun.
int Process::finish_tiles() {
  const Executors::Visit visit(context_.executors);
  if (context_.executors.are_replaced()) return 0;
  int others = 0;
  for (const auto& executor : context_.executors.all()) {
    const std::uint64_t previous = executor->enter_thread();
    others += executor->workers().others();
    if (!executor->is_asynchronous()) {
      for (Turn turn; executor->run_one(turn);) {
      }
    }
    executor->leave_thread(previous);
  }
  return others;
}

// Threads that compute leave their seats without waiting for anything, but those that a language has blocked for good.
// If this one computes itself, as a kernel has called exit(), it does not wait for its own seat.
void Process::at_exit() {
  if (!run_state_.is_exiting()) compute_needed();
  if (!run_state_.begin_exit()) return;
  while (finish_tiles() > abandoned_operations()) std::this_thread::yield();
  context_.waiters.end();
  context_.failures.print_undelivered();
}

}  // namespace asyncgrad::detail
