// Work to do when a thread ends. Internal.
#pragma once

#include <pthread.h>

namespace asyncgrad::detail {

// Calls `function` at the end of each thread that asked for it, after the thread's own objects have ended. Unlike the
// destructor of a thread_local object, registering it takes no memory, and a call that a thread asks for while it ends
// is made, too. Not called in the thread that ends the process. Never destroyed.
class AtThreadEnd {
 public:
  explicit AtThreadEnd(void (*function)(void*)) : is_made_(pthread_key_create(&key_, function) == 0) {}
  AtThreadEnd(const AtThreadEnd&) = delete;
  AtThreadEnd& operator=(const AtThreadEnd&) = delete;

  // Asks for the call at the end of the calling thread. The argument is not null. Asking again replaces the earlier
  // call. If the system has no room for it, nothing is called.
  void ask(void* argument) const {
    if (is_made_) pthread_setspecific(key_, argument);
  }

 private:
  pthread_key_t key_{};
  const bool is_made_;
};

}  // namespace asyncgrad::detail
