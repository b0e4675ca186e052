#include "asyncgrad/core/sync/scoped_lock.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "asyncgrad/core/sync/mutex.h"
#include "asyncgrad/core/sync/spin_lock.h"

namespace asyncgrad::detail {
namespace {

// Tries the lock on a thread of its own, because a thread must not try a mutex that it holds.
template <class Lock>
bool is_held(Lock& lock) {
  bool held = true;
  std::thread([&lock, &held] {
    if (!lock.try_lock()) return;
    held = false;
    lock.unlock();
  }).join();
  return held;
}

template <class Lock>
class ScopedLockTest : public testing::Test {};
using Locks = testing::Types<Mutex, SpinLock>;
TYPED_TEST_SUITE(ScopedLockTest, Locks);

TYPED_TEST(ScopedLockTest, LetsOneInAtATime) {
  TypeParam lock;
  std::int64_t count = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        const ScopedLock<TypeParam> held(lock);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 80'000);
}

TYPED_TEST(ScopedLockTest, HoldsForTheScope) {
  TypeParam lock;
  EXPECT_FALSE(is_held(lock));
  {
    const ScopedLock<TypeParam> held(lock);
    EXPECT_TRUE(is_held(lock));
  }
  EXPECT_FALSE(is_held(lock));
}

TYPED_TEST(ScopedLockTest, GivesTheLockBackForAWhile) {
  TypeParam lock;
  {
    ScopedLock<TypeParam> held(lock);
    held.unlock();
    EXPECT_FALSE(is_held(lock));
    held.lock();
    EXPECT_TRUE(is_held(lock));
  }
  EXPECT_FALSE(is_held(lock));
}

TYPED_TEST(ScopedLockTest, LeavesALockThatItHasGivenBack) {
  TypeParam lock;
  ScopedLock<TypeParam> other(lock);
  other.unlock();
  {
    ScopedLock<TypeParam> held(lock);
    held.unlock();
    other.lock();
  }
  EXPECT_TRUE(is_held(lock));
}

TYPED_TEST(ScopedLockTest, TakesOverALockThatIsHeld) {
  TypeParam lock;
  lock.lock();
  {
    const ScopedLock<TypeParam> held(lock, std::adopt_lock);
    EXPECT_TRUE(is_held(lock));
  }
  EXPECT_FALSE(is_held(lock));
}

}  // namespace
}  // namespace asyncgrad::detail
