#include "asyncgrad/core/profile/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace asyncgrad::detail::profile {

namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      result += c;
    }
  }
  return result;
}

std::string operands_text(const OperationRecord& record) {
  std::string text;
  for (const OperandRecord& operand : record.operands) append_operand(text, operand.access, operand.shape);
  return text;
}

class Trace {
 public:
  explicit Trace(const Recorded& recorded) : recorded_(recorded) {}

  std::string str(const std::vector<OperationTimeline>& operations) {
    text_ = "{\"displayTimeUnit\": \"ms\",\n\"traceEvents\": [\n";
    text_ += "{\"ph\": \"M\", \"pid\": 1, \"name\": \"process_name\", \"args\": {\"name\": \"asyncgrad\"}}";
    for (std::size_t thread = 0; thread < recorded_.threads.size(); ++thread) {
      add_rows(thread);
      add_thread(thread);
    }
    for (const OperationTimeline& operation : operations) add_operation(operation);
    add_arrows(operations);
    add_queue(operations);
    add_budget(operations);
    add_live();
    return std::move(text_) + "\n]}\n";
  }

 private:
  double us(std::int64_t time_ns) const { return static_cast<double>(time_ns - recorded_.start_ns) * 1e-3; }

  // A row's number in the file; Perfetto reserves 0.
  static std::size_t tid(std::size_t row) { return row + 1; }

  template <class... Values>
  void add(fmt::format_string<Values...> form, Values&&... values) {
    text_ += ",\n";
    fmt::format_to(std::back_inserter(text_), form, std::forward<Values>(values)...);
  }
  void add_span(std::string_view name, std::string_view category, std::size_t row, std::int64_t begin_ns,
                std::int64_t end_ns, std::string_view arguments) {
    add(R"({{"ph": "X", "pid": 1, "tid": {}, "cat": "{}", "name": "{}", "ts": {:.3f}, "dur": {:.3f}, "args": {{{}}}}})",
        tid(row), category, name, us(begin_ns), static_cast<double>(end_ns - begin_ns) * 1e-3, arguments);
  }
  void add_counter(std::string_view name, std::int64_t time_ns, std::string_view unit, std::int64_t value) {
    add(R"({{"ph": "C", "pid": 1, "name": "{}", "ts": {:.3f}, "args": {{"{}": {}}}}})", name, us(time_ns), unit, value);
  }

  void add_row(std::size_t row, const std::string& name, std::size_t place) {
    add(R"({{"ph": "M", "pid": 1, "tid": {}, "name": "thread_name", "args": {{"name": "{}"}}}})", tid(row), name);
    add(R"({{"ph": "M", "pid": 1, "tid": {}, "name": "thread_sort_index", "args": {{"sort_index": {}}}}})", tid(row),
        place);
  }

  // The front end comes first, then the program's other threads, then the workers.
  void add_rows(std::size_t index) {
    const ThreadRecords& thread = recorded_.threads[index];
    const std::size_t row = row_of(index);
    if (thread.is_front_end) {
      add_row(row, "front end", 0);
    } else if (thread.name.empty()) {
      add_row(row, fmt::format("thread {}", ++others_), 1);
    } else {
      add_row(row, thread.name, 2 + row);
    }
    std::array<bool, queue_count> has_row{};
    for (const DeviceRecord& record : thread.on_device) {
      if (std::exchange(has_row[static_cast<std::size_t>(record.queue)], true)) continue;
      const std::size_t of_queue = row_of(index, record.queue);
      add_row(of_queue, record.device.str() + " " + queue_names[record.queue], 2 + of_queue);
    }
  }

  // Adds a thread's events, except for the spans of queued operations.
  void add_thread(std::size_t index) {
    const ThreadRecords& thread = recorded_.threads[index];
    const std::size_t row = row_of(index);
    for (const OperationRecord& record : thread.operations) {
      if (record.number == 0) {
        add_span(record.shown_name(), "at call", row, record.queued_ns, record.ended_ns, described(record));
      } else {
        add(R"({{"ph": "i", "s": "t", "pid": 1, "tid": {}, "cat": "queued", "name": "queue {}", "ts": {:.3f}}})",
            tid(row), record.shown_name(), us(record.queued_ns));
      }
    }
    for (const WaitRecord& wait : thread.waits) add_span("wait", "wait", row, wait.begin_ns, wait.end_ns, "");
  }

  static std::string described(const OperationRecord& record) {
    return fmt::format(R"("operands": "{}", "dtype": "{}", "operand_bytes": {}, "queued_at": "{}")",
                       operands_text(record), name(record.operands[0].dtype), record.operand_bytes(),
                       escaped(record.origin.str()));
  }

  void add_operation(const OperationTimeline& operation) {
    const OperationRecord& record = *operation.record;
    const RowSpan& first = operation.spans.front();
    std::string arguments = fmt::format(
        R"("number": {}, {}, "tiles": {}, "queued_us": {:.3f}, "ready_us": {:.3f}, "started_us": {:.3f}, "ended_us": {:.3f})",
        record.number, described(record), record.tiles, us(record.queued_ns), us(operation.ready_ns),
        us(first.begin_ns), us(operation.ended_ns));
    if (operation.refused_ns != 0) arguments += fmt::format(R"(, "refused_us": {:.3f})", us(operation.refused_ns));
    if (operation.failed) arguments += R"(, "failed": true)";
    if (const auto& issued = operation.issued) {
      arguments += fmt::format(R"(, "issued_us": {:.3f})", us(issued->begin_ns));
      add_span(record.shown_name(), "issue", issued->row, issued->begin_ns, issued->end_ns,
               fmt::format(R"("number": {})", record.number));
    }
    add_span(record.shown_name(), "operation", first.row, first.begin_ns, first.end_ns, arguments);
    for (auto tile = std::next(operation.spans.begin()); tile != operation.spans.end(); ++tile) {
      add_span(record.shown_name(), "tile", tile->row, tile->begin_ns, tile->end_ns,
               fmt::format(R"("number": {}, "tile": {})", record.number, tile->tile));
    }
  }

  // The arrow starts within the span that ended last, because a viewer looks for a span around that time.
  void add_arrows(const std::vector<OperationTimeline>& operations) {
    std::unordered_map<std::uint64_t, const OperationTimeline*> by_number;
    for (const OperationTimeline& operation : operations) by_number[operation.record->number] = &operation;
    int id = 0;
    for (const OperationTimeline& operation : operations) {
      for (const std::uint64_t number : operation.predecessors) {
        const RowSpan& from = by_number.at(number)->last_span();
        const RowSpan& to = operation.spans.front();
        add_arrow_end("s", ++id, from.row, std::max(from.begin_ns, from.end_ns - 1));
        add_arrow_end("f", id, to.row, to.begin_ns);
      }
    }
  }
  void add_arrow_end(std::string_view phase, int id, std::size_t row, std::int64_t time_ns) {
    add(R"({{"ph": "{}", "bp": "e", "id": {}, "pid": 1, "tid": {}, "cat": "dependency", "name": "dependency", "ts": {:.3f}}})",
        phase, id, tid(row), us(time_ns));
  }

  void add_queue(const std::vector<OperationTimeline>& operations) {
    std::vector<std::pair<std::int64_t, int>> changes;
    for (const OperationTimeline& operation : operations) {
      changes.emplace_back(operation.record->queued_ns, 1);
      changes.emplace_back(operation.ended_ns, -1);
    }
    std::ranges::sort(changes);
    std::int64_t depth = 0;
    for (const auto& [time_ns, change] : changes) add_counter("queue depth", time_ns, "operations", depth += change);
  }

  void add_budget(const std::vector<OperationTimeline>& operations) {
    std::int64_t before = std::numeric_limits<std::int64_t>::max();  // unbounded
    for (const OperationTimeline& operation : operations) {
      const OperationRecord& record = *operation.record;
      if (std::exchange(before, record.budget_bytes) == record.budget_bytes) continue;
      add_counter("budget", record.queued_ns, "bytes", record.budget_bytes);
    }
  }

  // A counter for each device's allocator.
  void add_live() {
    std::map<const void*, std::string> names;
    for (const ThreadRecords& thread : recorded_.threads) {
      for (const LiveRecord& record : thread.live) {
        std::string& name = names[record.allocator];
        if (name.empty()) name = names.size() == 1 ? "live memory" : fmt::format("live memory {}", names.size());
        add_counter(name, record.time_ns, "bytes", record.live_bytes);
      }
    }
  }

  const Recorded& recorded_;
  int others_ = 0;
  std::string text_;
};

}  // namespace

std::string trace_text(const Recorded& recorded, const std::vector<OperationTimeline>& operations) {
  return Trace(recorded).str(operations);
}

}  // namespace asyncgrad::detail::profile
