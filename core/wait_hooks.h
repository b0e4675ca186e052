// Hooks that the binding of another language runs around a wait. A program in C++ does not need them.
#pragma once

#include <exception>

#include "asyncgrad/core/error.h"

namespace asyncgrad {

// A thread of the program calls these functions while it waits for something unfinished: in wait(), item(), wait_all()
// and the like, and in queueing calls that wait for room. While hooks are set, a thread that waits leaves computing to
// the workers, except for operations of some 0.1 ms that a thread waits for.
//
// A hook may end its thread, by pthread_exit() for example, as the lock of a language does when its interpreter ends.
// The wait is then unwound like any other call, and no further hook is called, not even `end`. Hooks throw no
// exceptions.
struct WaitHooks {
  void (*begin)() = nullptr;  // before the thread blocks: releases a lock of the language, for example
  void (*end)() = nullptr;    // after it; is called as often as `begin`, unless a hook ends the thread
  // Is called several times a second, and at once after a signal, while the thread blocks. True ends the wait, which
  // throws Interrupted. Queued operations go on.
  bool (*is_interrupted)() = nullptr;
};

// Thrown by an interrupted wait. A queueing call that waited for room has queued nothing.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "a wait was interrupted"; }
};

// Sets the hooks of the process, or removes them with null; `hooks` must live until then. Does not block; call it while
// no thread waits. A wait for a fork calls begin and end alone.
void set_wait_hooks(const WaitHooks* hooks);

// A kernel of one's own throws this if it computes nothing because the language's part of the process has ended. A wait
// for its result throws an Error; the end of the process prints none.
class Dropped : public Error {
 public:
  using Error::Error;
};

// `count` more operations will never end: the language has blocked their threads for good, in functions of its own. The
// end of the process does not wait for them. Any thread may call it.
void abandon_operations(int count);

namespace detail {

int abandoned_operations();

const WaitHooks* wait_hooks();  // null: none are set

// While it lives, the calling thread's waits are not interrupted.
class Uninterrupted {
 public:
  Uninterrupted();
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;
  ~Uninterrupted();
};
bool may_interrupt();

}  // namespace detail

}  // namespace asyncgrad
