// What the binding of another language does around a wait. A program in C++ does not need this.
#pragma once

#include <exception>

namespace asyncgrad {

// Functions that are called by a thread of the program when something that is not finished is waited for: by wait(),
// item(), wait_all() and the like, and by queueing calls that wait for room. While hooks are set, a thread that waits
// does not compute: it leaves that to the workers.
struct WaitHooks {
  void (*begin)() = nullptr;  // before the thread blocks: releases a lock of the language, for example
  void (*end)() = nullptr;    // after it; is called as often as `begin`
  // Is called several times a second, and at once after a signal, while the thread blocks. True ends the wait, which
  // throws Interrupted. What is queued goes on.
  bool (*is_interrupted)() = nullptr;
};

// What a wait throws that was interrupted. The queueing call that waited for room has queued nothing.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "a wait was interrupted"; }
};

// Sets the hooks of the process, or removes them with null; `hooks` must live until then. Does not block; call it while
// no thread waits. A wait for a fork, or for new engine options, calls begin and end alone.
void set_wait_hooks(const WaitHooks* hooks);

namespace detail {

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
