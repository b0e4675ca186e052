// The engine while nothing is queued: for options, devices and forks. Internal.
#pragma once

#include "asyncgrad/core/engine/front_end/program_queue.h"

namespace asyncgrad::detail {

// Takes the queue's lock when everything is finished and no thread uses an entry any more. It stays so until the caller
// releases the lock, because only a thread that holds it can queue. Blocks until then. Other threads that want to queue
// stand back meanwhile; one that has done so for long may pass, see stand_back().
void lock_when_idle(ProgramQueue& queue) ASYNCGRAD_ACQUIRE(queue.lock());

// The same, at a moment when no thread of the program visits an executor, whose threads may then be stopped. A visitor
// may want the queue's lock before it sees that everything is finished, so that the lock is not held while visitors
// leave. A visitor that comes later sees it at once, and leaves without the lock.
void lock_without_visitors(ProgramQueue& queue) ASYNCGRAD_ACQUIRE(queue.lock());

// Keeps the queue idle for as long as a scope lasts.
class ASYNCGRAD_SCOPED_CAPABILITY Idle {
 public:
  explicit Idle(ProgramQueue& queue) ASYNCGRAD_ACQUIRE(queue.lock()) : queue_(queue) { lock_without_visitors(queue_); }
  Idle(const Idle&) = delete;
  Idle& operator=(const Idle&) = delete;
  ~Idle() ASYNCGRAD_RELEASE() { queue_.lock().unlock(); }

 private:
  ProgramQueue& queue_;
};

// Lets the automatic budget of all devices start again from what is live: failed operations may have asked for more
// memory than there is, which would leave it too wide. Does nothing if something is queued. Any thread may call it.
void forget_levels(ProgramQueue& queue) ASYNCGRAD_EXCLUDES(queue.lock());

}  // namespace asyncgrad::detail
