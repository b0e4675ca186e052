// The records of all threads, combined for each operation. Internal.
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

// A row of the trace. A thread's row is its index in Recorded::threads. A launch thread has the rows of its device's
// queues below it.
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
  std::int64_t refused_ns = 0;  // when admission first refused it; 0: never
  std::int64_t ended_ns = 0;
  bool failed = false;
  std::vector<RowSpan> spans{};               // by tile; without computation, one of no length
  std::optional<RowSpan> issued{};            // on the launch thread, if `spans` has the device's times
  std::vector<std::uint64_t> predecessors{};  // each once

  const RowSpan& last_span() const;  // the one that ended last
};

// The operations' timelines, in program order.
std::vector<OperationTimeline> timelines(const Recorded& recorded);

}  // namespace asyncgrad::detail::profile
