#include "asyncgrad/core/engine/life/process.h"

#include <thread>

#include "asyncgrad/core/engine/threads/status.h"

namespace asyncgrad::detail {

void Process::before_fork() {
  front_end_.lock_when_idle();
  for (const auto& executor : context_.executors.all()) executor->workers().hold_still();
  context_.waiters.hold_still();
}

void Process::after_fork(bool in_child) {
  context_.waiters.let_go_on();
  if (in_child) context_.waiters.forget_threads();
  for (const auto& executor : context_.executors.all()) {
    executor->workers().let_go_on();
    if (in_child) executor->workers().forget_threads();
  }
  if (in_child) ThreadStatus::forget_other_threads();
  front_end_.unlock();
}

// Threads that compute leave their seats without waiting for anything, and this one runs the tiles that a waiting
// thread has left behind. If it computes itself, as a kernel has called exit(), it does not wait for its own seat.
void Process::at_exit() {
  if (!run_state_.begin_exit()) return;
  for (const auto& executor : context_.executors.all()) {
    const std::uint64_t previous = executor->enter_thread();
    for (Turn turn;;) {
      const bool was_idle = executor->workers().is_idle();
      if ((executor->is_asynchronous() || !executor->run_one(turn)) && was_idle) break;
      std::this_thread::yield();
    }
    executor->leave_thread(previous);
  }
  context_.failures.print_undelivered();
}

}  // namespace asyncgrad::detail
