// Whether small requests of other libraries will find memory. Internal.
#pragma once

namespace asyncgrad::detail {

// The C library ends the process if it lacks memory for the destructor of a thread_local object, and libgomp if it
// lacks memory for what it keeps for a thread. Both need a little memory once for each thread. Called right before,
// this function returns whether they will find it. Any thread may call it.
bool malloc_has_room() noexcept;

}  // namespace asyncgrad::detail
