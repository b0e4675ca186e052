#include "asyncgrad/core/memory/foreign.h"

#include <unordered_map>
#include <utility>

#include "asyncgrad/core/memory/storage.h"
#include "asyncgrad/core/sync/fork_locks.h"
#include "asyncgrad/core/sync/mutex.h"

namespace asyncgrad::detail::foreign {

namespace {

struct Releases {
  Releases() { ForkLocks::add(mutex, ForkLocks::Kind::inner); }
  Mutex mutex;
  std::unordered_map<const Storage*, std::function<void()>> of ASYNCGRAD_GUARDED_BY(mutex);
};

// Never destroyed, because some tensors end at exit.
Releases& releases() {
  static Releases* const all = new Releases;
  return *all;
}
const bool has_releases = made_at_load(releases);

}  // namespace

void add(Storage& storage, std::function<void()> release) {
  Releases& all = releases();
  const MutexLock lock(all.mutex);
  all.of.emplace(&storage, std::move(release));
  storage.is_foreign = true;
  storage.is_exposed.store(true, std::memory_order_relaxed);
}

void end(Storage& storage) noexcept {
  std::function<void()> release;
  {
    Releases& all = releases();
    const MutexLock lock(all.mutex);
    const auto found = all.of.find(&storage);
    release = std::move(found->second);
    all.of.erase(found);
  }
  if (release) release();
}

}  // namespace asyncgrad::detail::foreign
