// Python objects that the library's threads no longer hold.
#pragma once

namespace asyncgrad::python {

// Releases them. For threads of Python, which hold the interpreter's lock, at points where its garbage collector might
// run, too: a destructor may do anything, also queue and wait. The engine's locks are not held there.
void release_dropped_objects();
// In the child of a fork: the thread that was to schedule a release may not exist.
void forget_scheduled_release();

}  // namespace asyncgrad::python
