// What all threads recorded, put together by operation. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "asyncgrad/core/backend/device_queue.h"
#include "asyncgrad/core/profile/records.h"

namespace asyncgrad::detail::profile {

struct Recorded {
  std::int64_t start_ns = 0, end_ns = 0;
  int workers = 0;
  std::vector<ThreadRecords> threads{};
};

// Rows of the trace: of a thread, an index in Recorded::threads; and, of one that launches, below it those of the
// device's queues.
constexpr std::size_t rows_of_thread = 1 + queue_count;
constexpr std::size_t row_of(std::size_t thread) { return thread * rows_of_thread; }
constexpr std::size_t row_of(std::size_t thread, int queue) {
  return row_of(thread) + 1 + static_cast<std::size_t>(queue);
}
constexpr bool is_of_device(std::size_t row) { return row % rows_of_thread != 0; }

// An operation, or one of its tiles, on a row.
struct RowSpan {
  std::size_t row = 0;
  int tile = 0;
  std::int64_t begin_ns = 0, end_ns = 0;
};

// An operation that was queued and ended while everything was recorded.
struct OperationTimeline {
  const OperationRecord* record = nullptr;
  std::int64_t ready_ns = 0;    // when threads could find it; one that is held is ready before
  std::int64_t refused_ns = 0;  // the first time; 0: never
  std::int64_t ended_ns = 0;
  bool failed = false;
  std::vector<RowSpan> spans{};               // by tile; where nothing was computed, one of no length where it ended
  std::optional<RowSpan> issued{};            // by the thread that launches, where `spans` has the device's own
  std::vector<std::uint64_t> predecessors{};  // each once

  const RowSpan& last_span() const;  // the one that ended last
};

// The operations' timelines, in program order.
std::vector<OperationTimeline> timelines(const Recorded& recorded);

}  // namespace asyncgrad::detail::profile
