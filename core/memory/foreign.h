// Memory of storages that belongs to the program, see core/host_memory.h. Internal.
#pragma once

#include <functional>

namespace asyncgrad::detail {

struct Storage;

// Any thread may call these functions.
namespace foreign {

// Registers a storage whose memory is the program's. `release` is called when the storage ends.
void add(Storage& storage, std::function<void()> release);
// Called when the storage ends.
void end(Storage& storage) noexcept;

}  // namespace foreign

}  // namespace asyncgrad::detail
