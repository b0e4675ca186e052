// What a fork and the exit of the process do to the engine. Internal.
#pragma once

#include "asyncgrad/core/engine/front_end/front_end.h"
#include "asyncgrad/core/engine/run/run_state.h"
#include "asyncgrad/core/engine/schedule/executors.h"

namespace asyncgrad::detail {

// The engine's part in the events of the process. docs/engine.md describes both.
class Process {
 public:
  Process(FrontEnd& front_end, RunState& run_state)
      : context_(front_end.context()), front_end_(front_end), run_state_(run_state) {}

  // fork() calls them, before it and after it on both sides. Only the calling thread exists in the child: nothing may
  // be under way, and the locks keep it so until after_fork() gives them back.
  void before_fork() ASYNCGRAD_NO_THREAD_SAFETY_ANALYSIS;  // it returns with locks, one of each executor
  void after_fork(bool in_child) ASYNCGRAD_NO_THREAD_SAFETY_ANALYSIS;
  // What has started ends, and nothing else starts; undelivered errors are printed. The first call does all that.
  void at_exit();

 private:
  const ExecutorContext& context_;
  FrontEnd& front_end_;
  RunState& run_state_;
};

}  // namespace asyncgrad::detail
