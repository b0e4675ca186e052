// How a thread of the program waits for queued operations. Internal.
//
// Thread safety: any thread may call these functions, without the queue's lock.
//
// Every wait ends: wait_until() offers what is staged before it sleeps, so that everything queued so far is with an
// executor. The rest of the argument is in docs/engine.md, "Every wait ends".
#pragma once

#include <cstdint>

#include "asyncgrad/core/engine/front_end/program_queue.h"

namespace asyncgrad::detail {

// Waits until the goal is reached, and computes operations numbered up to `limit` meanwhile. With wait hooks it
// computes only what is brief, and answers interrupts by throwing Interrupted. Throws Error inside an operation, and at
// the end of the process if the goal cannot be reached any more.
void wait_until(ProgramQueue& queue, const Goal& goal, std::uint64_t limit) ASYNCGRAD_EXCLUDES(queue.lock());
// Waits until no thread wants the engine idle any more, but not for longer than its patience: what that thread waits for
// may need what this one is about to queue, such as a source's function that waits for another thread. With wait hooks
// it answers interrupts by throwing Interrupted.
void stand_back(ProgramQueue& queue, std::int64_t patience_us) ASYNCGRAD_EXCLUDES(queue.lock());
// Computes the few tiny operations that are unfinished, after try_submit() has offered them to `executor`, which
// the caller visits. Returns early if a worker computes the last ones.
void catch_up(ProgramQueue& queue, Executor& executor) ASYNCGRAD_EXCLUDES(queue.lock());
// The time that the calling thread has waited, or computed while it waited.
double waited_seconds();

}  // namespace asyncgrad::detail
