// What all threads recorded, put together by operation. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "asyncgrad/core/engine/profile.h"

namespace asyncgrad::detail::profile {

struct Recorded {
  std::int64_t start_ns = 0, end_ns = 0;
  int workers = 0;
  std::vector<ThreadRecords> threads{};
};

// An operation, or one of its tiles, on a thread: an index in Recorded::threads.
struct ThreadSpan {
  std::size_t thread = 0;
  int tile = 0;
  std::int64_t begin_ns = 0, end_ns = 0;
};

// An operation that was queued and ended while everything was recorded.
struct OperationTimeline {
  const OperationRecord* record = nullptr;
  std::int64_t ready_ns = 0;
  std::int64_t refused_ns = 0;  // the first time; 0: never
  std::int64_t ended_ns = 0;
  bool failed = false;
  std::vector<ThreadSpan> spans{};            // by tile; where nothing was computed, one of no length where it ended
  std::vector<std::uint64_t> predecessors{};  // each once

  const ThreadSpan& last_span() const;  // the one that ended last
};

// In program order.
std::vector<OperationTimeline> timelines(const Recorded& recorded);

}  // namespace asyncgrad::detail::profile
