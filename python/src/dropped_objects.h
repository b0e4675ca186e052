// Python objects that the library's threads no longer hold.
#pragma once

namespace asyncgrad::python {

// Releases them. For threads of Python, which hold the interpreter's lock, at points where its garbage collector might
// run, too: a destructor may do anything, also queue and wait. The engine's locks are not held there.
void release_dropped_objects();

}  // namespace asyncgrad::python
