#include "asyncgrad/core/profile/summary.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "asyncgrad/core/backend/operations.h"

namespace asyncgrad::detail::profile {

namespace {

using profiler::OperationTimes;
using profiler::Summary;

double seconds(std::int64_t begin_ns, std::int64_t end_ns) { return static_cast<double>(end_ns - begin_ns) * 1e-9; }

class Times {
 public:
  void add(const OperationRecord& record, double total_s) {
    const std::string name = record.shown_name();
    OperationTimes& times = by_name_[name];
    times.name = name;
    times.kind = kind_name(row_of(record.op).kind);
    ++times.count;
    times.total_s += total_s;
    times.flops += record.flops;
    times.operand_bytes += static_cast<double>(record.operand_bytes());
    kind_s_[times.kind] += total_s;
  }
  // Kinds, and names within a kind, by falling time.
  std::vector<OperationTimes> sorted() const {
    std::vector<OperationTimes> list;
    for (const auto& entry : by_name_) list.push_back(entry.second);
    std::ranges::stable_sort(list, [this](const OperationTimes& a, const OperationTimes& b) {
      const double kind_a_s = kind_s_.at(a.kind), kind_b_s = kind_s_.at(b.kind);
      if (kind_a_s != kind_b_s) return kind_a_s > kind_b_s;
      return a.kind != b.kind ? a.kind < b.kind : a.total_s > b.total_s;
    });
    return list;
  }

 private:
  std::map<std::string, OperationTimes> by_name_;
  std::map<std::string, double> kind_s_;
};

// Goes through time, and finds for every free seat whether an operation was held back at that moment.
void add_seats_without_work(Summary& summary, const Recorded& recorded,
                            const std::vector<OperationTimeline>& operations) {
  struct Change {
    std::int64_t time_ns;
    int computing, held_back;
  };
  std::vector<Change> changes{{recorded.start_ns, 0, 0}, {recorded.end_ns, 0, 0}};
  for (const OperationTimeline& operation : operations) {
    if (is_of_device(operation.spans.front().row)) continue;  // a device's operation needs no seat
    for (const RowSpan& span : operation.spans) {
      changes.push_back({span.begin_ns, 1, 0});
      changes.push_back({span.end_ns, -1, 0});
    }
    const std::int64_t started_ns = operation.spans.front().begin_ns;
    if (operation.refused_ns == 0 || operation.refused_ns > started_ns) continue;
    changes.push_back({operation.refused_ns, 0, 1});
    changes.push_back({started_ns, 0, -1});
  }
  std::ranges::sort(changes, {}, &Change::time_ns);
  int computing = 0, held_back = 0;
  std::int64_t before_ns = recorded.start_ns;
  for (const Change& change : changes) {
    const double elapsed_s = seconds(std::exchange(before_ns, change.time_ns), change.time_ns);
    const int free = std::max(0, recorded.workers - computing);
    summary.held_back_s += elapsed_s * std::min(free, held_back);
    summary.idle_s += elapsed_s * (free - std::min(free, held_back));
    computing += change.computing;
    held_back += change.held_back;
  }
}

}  // namespace

Summary summarize(const Recorded& recorded, const std::vector<OperationTimeline>& operations) {
  Summary summary{
      .elapsed_s = seconds(recorded.start_ns, recorded.end_ns), .workers = recorded.workers, .operations = {}};
  Times times;
  for (const OperationTimeline& operation : operations) {
    double total_s = 0;
    for (const RowSpan& span : operation.spans) total_s += seconds(span.begin_ns, span.end_ns);
    if (is_of_device(operation.spans.front().row)) summary.devices_s += total_s;
    times.add(*operation.record, total_s);
  }
  summary.front_end_s = summary.elapsed_s;
  for (const ThreadRecords& thread : recorded.threads) {
    for (const OperationRecord& record : thread.operations) {
      if (record.number != 0) continue;
      const double total_s = seconds(record.queued_ns, record.ended_ns);
      times.add(record, total_s);
      if (thread.is_front_end) summary.front_end_s -= total_s;
    }
    if (!thread.is_front_end) continue;
    for (const WaitRecord& wait : thread.waits) summary.front_end_wait_s += seconds(wait.begin_ns, wait.end_ns);
  }
  summary.front_end_s -= summary.front_end_wait_s;
  summary.operations = times.sorted();
  add_seats_without_work(summary, recorded, operations);
  return summary;
}

}  // namespace asyncgrad::detail::profile
