// Must not compile with clang's -Wthread-safety -Werror: tests/CMakeLists.txt runs it.
#include <cstdint>

#include "asyncgrad/core/sync/mutex.h"
#include "asyncgrad/core/sync/spin_lock.h"

namespace asyncgrad::detail {

template <class Lock>
class Counter {
 public:
  void count() {
    const ScopedLock lock(lock_);
    ++count_;
  }
  void count_after_unlock() {
    ScopedLock lock(lock_);
    lock.unlock();
    ++count_;
  }
  std::int64_t read_without_lock() const { return count_; }
  void keep_lock() { lock_.lock(); }

 private:
  Lock lock_;
  std::int64_t count_ ASYNCGRAD_GUARDED_BY(lock_) = 0;
};
template class Counter<Mutex>;
template class Counter<SpinLock>;

}  // namespace asyncgrad::detail
