// Work to do when a thread ends. Internal.
#pragma once

#include <pthread.h>

namespace asyncgrad::detail {

// Calls `function` at the end of each thread that asked for it, after the thread's own objects have ended. Unlike a
// thread_local object's destructor it needs no memory to be asked for, and what a thread asks for so late is done, too.
// Not called in the thread that ends the process. Never destroyed.
class AtThreadEnd {
 public:
  explicit AtThreadEnd(void (*function)(void*)) : is_made_(pthread_key_create(&key_, function) == 0) {}
  AtThreadEnd(const AtThreadEnd&) = delete;
  AtThreadEnd& operator=(const AtThreadEnd&) = delete;

  // Asks for the call at the end of the calling thread. The argument is not null. Asking again replaces the earlier
  // call. Where the system has no room for it, nothing is called.
  void ask(void* argument) const {
    if (is_made_) pthread_setspecific(key_, argument);
  }

 private:
  pthread_key_t key_{};
  const bool is_made_;
};

}  // namespace asyncgrad::detail
