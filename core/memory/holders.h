// The holders of a device's memory, for the message when there is none left. Internal.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "asyncgrad/core/origin/origin.h"
#include "asyncgrad/core/shape.h"
#include "asyncgrad/core/sync/fork_locks.h"
#include "asyncgrad/core/sync/mutex.h"

namespace asyncgrad::detail {

struct Storage;

// The large blocks that are live, or would be in a dry run, and the operations that made them. Any thread may call any
// function.
class Holders {
 public:
  static constexpr std::int64_t min_bytes = std::int64_t{1} << 20;  // smaller blocks are not listed

  struct Holder {
    std::int64_t size_bytes = 0;
    const char* operation = "";
    Shape shape;
    Origin origin;
  };
  void add(const Storage& storage, const Holder& holder);
  // Adds the storage with its size if it is large enough to be listed.
  void note(const Storage& storage, Holder holder);
  void remove(const Storage& storage);
  // Lists the largest blocks, one on each line, "67108864 bytes by normal (4096, 4096), queued at train.cpp:12; a
  // parameter", or why the planner, if there is one, keeps the value. A last line adds up all blocks by what they are.
  std::string str() const;

  // See ForkLocks; for holders that are never destroyed.
  void hold_at_fork() { ForkLocks::add(mutex_, ForkLocks::Kind::outer); }

 private:
  static constexpr std::size_t max_lines = 8;

  mutable Mutex mutex_;
  std::unordered_map<const Storage*, Holder> holders_ ASYNCGRAD_GUARDED_BY(mutex_);
};

}  // namespace asyncgrad::detail
