// Names that are kept for good. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "asyncgrad/core/sync/fork_locks.h"
#include "asyncgrad/core/sync/mutex.h"

namespace asyncgrad::detail {

// Keeps every layer path that was entered, every graph's name and every name that the program gave to an operation, so
// that each can be stored as four bytes or a pointer. Names are never removed, and the deque does not move them. A
// program that makes names without end, of a counter for example, fills no memory: from `max_names` on, new names share
// one. Any thread may call any function.
class Names {
 public:
  static constexpr std::size_t max_names = 1 << 14;  // some 2 MiB

  // Never destroyed: errors at exit still name layers and operations.
  static Names& get() {
    static Names* const names = made();
    return *names;
  }
  // The number of `name` within the name `outer`, or of `name` alone if `outer` is 0.
  std::uint32_t id(std::uint32_t outer, std::string_view name) {
    const MutexLock lock(mutex_);
    std::pair key(outer, std::string(name));
    if (const auto entry = ids_.find(key); entry != ids_.end()) return entry->second;
    if (names_.size() >= max_names) return other_names;
    const auto id = static_cast<std::uint32_t>(names_.size());
    names_.push_back(outer == 0 ? key.second : names_[outer] + "." + key.second);
    ids_.emplace(std::move(key), id);
    return id;
  }
  const std::string& name(std::uint32_t id) {
    const MutexLock lock(mutex_);
    return names_[id];
  }

 private:
  static Names* made() {
    auto* const names = new Names;
    ForkLocks::add(names->mutex_, ForkLocks::Kind::inner);
    return names;
  }

  Mutex mutex_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> ids_ ASYNCGRAD_GUARDED_BY(mutex_);
  static constexpr std::uint32_t other_names = 1;
  std::deque<std::string> names_ ASYNCGRAD_GUARDED_BY(mutex_) = {"", "(one of too many names)"};
};

}  // namespace asyncgrad::detail
