// Memory of storages that belongs to the program, see core/host_memory.h. Internal.
#pragma once

#include <functional>

namespace asyncgrad::detail {

struct Storage;

// Any thread may call these functions.
namespace foreign {

// `release` is called when the storage ends, whose memory is the program's.
void add(Storage& storage, std::function<void()> release);
// The storage ends.
void end(Storage& storage) noexcept;

}  // namespace foreign

}  // namespace asyncgrad::detail
