// The order in which the engine and static objects that kernels need are destroyed. Internal.
#pragma once

namespace asyncgrad::detail {

// An exit destroys static objects in the opposite order of their construction. A kernel calls this after a library has
// constructed some that the kernel needs from now on, so that at exit the engine's work ends before they are destroyed.
// Any thread may call it, an operation included. Throws std::bad_alloc.
void end_work_before_statics();

}  // namespace asyncgrad::detail
