#include "asyncgrad/core/memory/abandoned.h"

#include <mutex>
#include <new>
#include <vector>

namespace asyncgrad::detail {

void note_abandoned(const void* memory) noexcept {
  static std::mutex mutex;
  static auto* const all = new (std::nothrow) std::vector<const void*>;  // never destroyed
  if (all == nullptr) return;
  const std::lock_guard lock(mutex);
  try {
    all->push_back(memory);
  } catch (const std::bad_alloc&) {  // it stays all the same
    return;
  }
}

}  // namespace asyncgrad::detail
