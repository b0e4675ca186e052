// Names that are kept for good. Internal.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "asyncgrad/core/sync/mutex.h"

namespace asyncgrad::detail {

// Every layer path that was ever entered, every graph's name and every name that the program gave to an operation, so
// that each can be kept in four bytes or a pointer. Grows with the number of different ones alone. They are never
// removed, and the deque does not move them. Any thread may call any function.
class Names {
 public:
  // Never destroyed: errors at exit still name layers and operations.
  static Names& get() {
    static Names* const names = new Names;
    return *names;
  }
  // The number of `name` within the name `outer`, or of `name` alone if `outer` is 0.
  std::uint32_t id(std::uint32_t outer, std::string_view name) {
    const MutexLock lock(mutex_);
    const auto [entry, added] = ids_.try_emplace({outer, std::string(name)}, static_cast<std::uint32_t>(names_.size()));
    if (added) names_.push_back(outer == 0 ? std::string(name) : names_[outer] + "." + std::string(name));
    return entry->second;
  }
  const std::string& name(std::uint32_t id) {
    const MutexLock lock(mutex_);
    return names_[id];
  }

 private:
  Mutex mutex_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> ids_ ASYNCGRAD_GUARDED_BY(mutex_);
  std::deque<std::string> names_ ASYNCGRAD_GUARDED_BY(mutex_) = {""};
};

}  // namespace asyncgrad::detail
