// The engine at a fork and at the exit of the process. Internal.
#pragma once

#include "asyncgrad/core/engine/front_end/idle.h"
#include "asyncgrad/core/engine/run/run_state.h"
#include "asyncgrad/core/engine/schedule/executors.h"

namespace asyncgrad::detail {

// The engine's part in the events of the process. docs/engine.md describes both.
class Process {
 public:
  Process(ProgramQueue& queue, RunState& run_state) : context_(queue.context()), queue_(queue), run_state_(run_state) {}

  // fork() calls them, before it and after it on both sides. Only the calling thread exists in the child: nothing may
  // be under way, and the locks keep it so until after_fork() gives them back.
  // A fork inside an operation cannot wait for that, and one whose wait was interrupted (set_forks_wait) shall not:
  // nothing is held, and in the child nothing starts any more, so that the child can start another program or end.
  void before_fork() ASYNCGRAD_NO_THREAD_SAFETY_ANALYSIS;  // it returns with locks, one of each executor
  void after_fork(bool in_child) ASYNCGRAD_NO_THREAD_SAFETY_ANALYSIS;
  // Computes what is needed before the exit (RunState). Then operations that have started end, and no other one starts;
  // undelivered errors are printed. The first call does all that.
  void at_exit();

 private:
  void compute_needed();
  // Runs the tiles that a waiting thread has left behind. Returns how many other threads computed before.
  int finish_tiles();

  const ExecutorContext& context_;
  ProgramQueue& queue_;
  RunState& run_state_;
};

}  // namespace asyncgrad::detail
