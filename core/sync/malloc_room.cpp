#include "asyncgrad/core/sync/malloc_room.h"

#include <cstddef>
#include <cstdlib>

namespace asyncgrad::detail {

// A block that the thread has just freed can serve its next request. The block is so large that malloc does not keep it
// in a list that calloc skips.
bool malloc_has_room() noexcept {
  constexpr std::size_t more_than_enough_bytes = 4096;
  void* volatile block = std::malloc(more_than_enough_bytes);  // volatile: the compiler would leave out the pair
  std::free(block);
  return block != nullptr;
}

}  // namespace asyncgrad::detail
