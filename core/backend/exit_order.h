// The engine's end and that of static objects which kernels need. Internal.
#pragma once

namespace asyncgrad::detail {

// An exit destroys static objects in the opposite order of their making. A kernel calls this after a library has made
// some that it needs from now on: at exit the engine's work ends before they are destroyed. Any thread may call it, an
// operation included. Throws std::bad_alloc.
void end_work_before_statics();

}  // namespace asyncgrad::detail
