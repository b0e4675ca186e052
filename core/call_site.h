// The line of the program's call that a thread is in, for errors.
#pragma once

#include <utility>

#include "asyncgrad/core/location.h"

namespace asyncgrad {

// While it lives, errors of this thread name its line: "[add] shapes do not broadcast: x (2, 3), y (4), at
// train.cpp:12". Every operand makes one (Arg), so a program has no need of it; a binding to another language may name
// its own lines. Call sites of one thread end in the reverse order of their beginning.
class CallSite {
 public:
  [[nodiscard]] explicit CallSite(const Location& where) : where_(where), outer_(std::exchange(innermost, this)) {}
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;
  ~CallSite() { innermost = outer_; }

  const Location& where() const { return where_; }
  // The innermost line of the calling thread that is outside of the library; an unknown one outside of every call.
  static Location current();

 private:
  static inline constinit thread_local const CallSite* innermost = nullptr;

  Location where_;
  const CallSite* outer_;
};

}  // namespace asyncgrad
