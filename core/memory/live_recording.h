// Reports changes of live memory to the profiler and to a timeline. Internal.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "asyncgrad/core/memory.h"
#include "asyncgrad/core/memory/live_bytes.h"
#include "asyncgrad/core/profile/profile.h"
#include "asyncgrad/core/sync/fork_locks.h"
#include "asyncgrad/core/sync/spin_lock.h"

namespace asyncgrad::detail {

// Thread safety: any thread may call any function.
//
// Ordering: the flag is sequentially consistent with the count. A change is counted before report() reads the flag, and
// begin() sets the flag before it reads the count. So the recorder sees every change, either here or in its first
// value.
class LiveRecording {
 public:
  explicit LiveRecording(const LiveBytes& live) : live_(live) {}

  // Called when live memory has changed to `live_bytes`.
  void report(std::int64_t live_bytes) {
    if (is_on_.load(std::memory_order_seq_cst) || profile::is_on()) report_slowly(live_bytes);
  }

  // From now on the recorder gets every change. Returns false if there is a recorder already.
  bool begin(LiveBytesTimeline::Recorder& recorder);
  void end();
  // The samples that the recorder has recorded; empty if there is no recorder.
  std::vector<LiveBytesTimeline::Sample> samples();

  // See ForkLocks; for a recording that is never destroyed.
  void hold_at_fork() { ForkLocks::add(lock_, ForkLocks::Kind::outer); }

 private:
  void report_slowly(std::int64_t live_bytes);

  const LiveBytes& live_;
  std::atomic<bool> is_on_{false};  // whether there is a recorder
  SpinLock lock_;
  LiveBytesTimeline::Recorder* recorder_ ASYNCGRAD_GUARDED_BY(lock_) = nullptr;
};

}  // namespace asyncgrad::detail
