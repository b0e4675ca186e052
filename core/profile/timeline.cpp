#include "asyncgrad/core/profile/timeline.h"

#include <algorithm>
#include <unordered_map>

namespace asyncgrad::detail::profile {

namespace {

using ByNumber = std::unordered_map<std::uint64_t, OperationTimeline>;

void add_moment(OperationTimeline& operation, const Moment& moment, std::size_t thread) {
  switch (moment.event) {
    case Event::ready:
      operation.ready_ns = moment.time_ns;
      break;
    case Event::refused:
      if (operation.refused_ns == 0 || moment.time_ns < operation.refused_ns) operation.refused_ns = moment.time_ns;
      break;
    case Event::computed:
    case Event::failed:
      operation.ended_ns = moment.time_ns;
      operation.failed = moment.event == Event::failed;
      if (operation.spans.empty()) operation.spans.push_back({row_of(thread), 0, moment.time_ns, moment.time_ns});
      break;
  }
}

void add_tiles(ByNumber& operations, const Recorded& recorded) {
  for (std::size_t thread = 0; thread < recorded.threads.size(); ++thread) {
    for (const TileRecord& tile : recorded.threads[thread].tiles) {
      if (const auto entry = operations.find(tile.number); entry != operations.end()) {
        entry->second.spans.push_back({row_of(thread), tile.tile, tile.begin_ns, tile.end_ns});
      }
    }
  }
}

// Called after the tiles were added. For an operation that a device ran, the only tile is its issue.
void add_device_spans(ByNumber& operations, const Recorded& recorded) {
  for (std::size_t thread = 0; thread < recorded.threads.size(); ++thread) {
    for (const DeviceRecord& record : recorded.threads[thread].on_device) {
      const auto entry = operations.find(record.number);
      if (entry == operations.end()) continue;
      std::vector<RowSpan>& spans = entry->second.spans;
      if (!spans.empty()) entry->second.issued = spans.front();
      spans = {{row_of(thread, record.queue), 0, record.begin_ns, record.end_ns}};
    }
  }
}

// Called after the tiles were added.
void add_moments(ByNumber& operations, const Recorded& recorded) {
  for (std::size_t thread = 0; thread < recorded.threads.size(); ++thread) {
    for (const Moment& moment : recorded.threads[thread].moments) {
      if (const auto entry = operations.find(moment.number); entry != operations.end()) {
        add_moment(entry->second, moment, thread);
      }
    }
  }
}

void add_dependencies(ByNumber& operations, const Recorded& recorded) {
  for (const ThreadRecords& thread : recorded.threads) {
    for (const Dependency& dependency : thread.dependencies) {
      const auto entry = operations.find(dependency.number);
      if (entry == operations.end() || !operations.contains(dependency.on)) continue;
      std::vector<std::uint64_t>& predecessors = entry->second.predecessors;
      if (std::ranges::find(predecessors, dependency.on) == predecessors.end()) predecessors.push_back(dependency.on);
    }
  }
}

}  // namespace

const RowSpan& OperationTimeline::last_span() const { return *std::ranges::max_element(spans, {}, &RowSpan::end_ns); }

std::vector<OperationTimeline> timelines(const Recorded& recorded) {
  ByNumber operations;
  for (const ThreadRecords& thread : recorded.threads) {
    for (const OperationRecord& record : thread.operations) {
      if (record.number != 0) operations[record.number].record = &record;
    }
  }
  add_tiles(operations, recorded);
  add_device_spans(operations, recorded);
  add_moments(operations, recorded);
  // Other threads queued these while the recording stopped.
  std::erase_if(operations, [](const auto& entry) { return entry.second.ended_ns == 0; });
  add_dependencies(operations, recorded);

  std::vector<OperationTimeline> in_order;
  for (auto& entry : operations) {
    std::ranges::sort(entry.second.spans, {}, &RowSpan::tile);
    in_order.push_back(std::move(entry.second));
  }
  std::ranges::sort(in_order, {}, [](const OperationTimeline& operation) { return operation.record->number; });
  return in_order;
}

}  // namespace asyncgrad::detail::profile
