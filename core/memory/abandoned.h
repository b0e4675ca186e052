// Memory that is never freed. Internal.
#pragma once

namespace asyncgrad::detail {

// Called for memory that something outside of the engine may still write to, such as a message that has not come: it is
// the caller's, and never freed. Keeps the address, so that a leak detector finds it. Any thread may call it.
void note_abandoned(const void* memory) noexcept;

}  // namespace asyncgrad::detail
