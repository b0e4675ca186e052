#include "asyncgrad/core/engine/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "asyncgrad/core/engine/admission/devices.h"
#include "asyncgrad/core/engine/front_end/figures.h"
#include "asyncgrad/core/engine/threads/status.h"

namespace asyncgrad::detail {

namespace {

constexpr std::size_t max_operations = 8;  // of those that are shown

std::string progress_str(const PendingOperation& operation, const std::vector<std::uint64_t>& predecessors) {
  const Progress& progress = operation.progress;
  if (operation.is_finished) return "is finished";
  if (progress.is_open())
    return fmt::format("{} of its {} tiles have begun", operation.tiles - progress.tiles_left(), operation.tiles);
  if (progress.is(Progress::claimed)) return "has begun";
  if (progress.is_ready()) return "may begin, as soon as there is a thread and the budget has room";
  if (predecessors.empty()) return "has not been offered to the workers yet";
  std::string text = "waits for";
  for (const std::uint64_t number : predecessors) text += fmt::format(" #{}", number);
  return text;
}

std::string operation_str(const PendingOperation& operation, const std::vector<std::uint64_t>& predecessors) {
  std::string operands;
  for (const PendingOperand& operand : operation.operands) append_operand(operands, operand.access, operand.shape);
  return fmt::format("  #{} {} of {}, queued at {}: {}\n", operation.number,
                     op_name(operation.op, operation.attributes.data()), operands, operation.origin.str(),
                     progress_str(operation, predecessors));
}

std::string queue_str(ProgramQueue& queue) {
  const std::uint64_t oldest = queue.context().ring.oldest().load(std::memory_order_seq_cst),
                      next = queue.next_number();
  if (oldest >= next) return fmt::format("queue: empty; {} operations have been queued\n", next - 1);
  std::string text = fmt::format("queue: {} operations are unfinished, #{} to #{}\n", next - oldest, oldest, next - 1);
  const auto unfinished = try_pending(queue, max_operations);
  if (!unfinished)
    return text + "  a thread queues, or computes a tiny operation at its call, and does not come to its end\n";
  const auto predecessors = predecessors_of(*unfinished);
  for (std::size_t i = 0; i < unfinished->size(); ++i) text += operation_str((*unfinished)[i], predecessors[i]);
  const std::uint64_t shown = unfinished->empty() ? oldest : unfinished->back().number + 1;
  if (shown < next) text += fmt::format("  and {} younger ones\n", next - shown);
  return text;
}

std::string thread_str(const ThreadStatus::Line& line) {
  using Doing = ThreadStatus::Doing;
  const std::string name = fmt::format("  {} (thread {})", line.name.empty() ? "program" : line.name, line.system_id);
  switch (line.doing) {
    case Doing::nothing:
      return name + ": is not in the engine\n";
    case Doing::searching:
      return name + ": looks for an operation to compute\n";
    case Doing::computing:
      return name + fmt::format(": computes #{}\n", line.number);
    case Doing::sleeping:
      return name + ": sleeps until there is work\n";
    case Doing::waiting:
      return name + fmt::format(": waits for #{}\n", line.number);
  }
  return name;
}

std::string memory_str(DeviceState& device) {
  const Allocator::Figures figures = device.allocator.figures();
  const std::int64_t limit = device.admission().limit();
  return fmt::format("  {}: {} bytes are live (at most {} so far), {} cached; budget {}{}\n", device.device.str(),
                     figures.live_bytes, figures.peak_live_bytes, figures.cached_bytes,
                     limit == INT64_MAX ? std::string("unbounded") : fmt::format("{} bytes", limit),
                     device.holders.str());
}

}  // namespace

std::string engine_report(ProgramQueue& queue) {
  std::string text = "asyncgrad: what the engine does\n" + queue_str(queue) + "threads:\n";
  for (const ThreadStatus::Line& line : ThreadStatus::all()) text += thread_str(line);
  text += "memory:\n";
  for (DeviceState* device : Devices::all()) text += memory_str(*device);
  return text;
}

}  // namespace asyncgrad::detail
