#include "asyncgrad/core/sync/spin_lock.h"

#include <thread>

namespace asyncgrad::detail {

void SpinLock::wait_until_free() const {
  // The holder may have lost its core if there are more threads than cores: this thread yields its own after a while.
  for (int spins = 0; locked_.load(std::memory_order_relaxed); ++spins) {
    if (spins < 256) {
      pause_briefly();
    } else {
      std::this_thread::yield();
    }
  }
}

}  // namespace asyncgrad::detail
