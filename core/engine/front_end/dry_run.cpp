#include "asyncgrad/core/engine/front_end/dry_run.h"

#include <fmt/format.h>

#include <mutex>

#include "asyncgrad/core/error.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad {

namespace detail {

void DryRun::reset(DeviceState& device) {
  reports_[&device] = {.serial_peak_bytes = device.serial_live.total()};
  if (cause_ != nullptr) return;
  cause_ = failures_.add(0, "[dry_run] the value does not exist: it was queued under Schedule::dry_run");
  failures_.forget(*cause_);  // an error only for a later use of such a value
}

void DryRun::count_operation(const Submission& submission) {
  const auto& [op, operands, attributes, attribute_bytes, where, owned] = submission;
  DeviceState& device = state_of(*operands[0].impl->storage);
  if (DryRunReport* report = new_peak(device)) {
    report->peak_operation = op_name(op, attributes);
    report->peak_queued_at = origin_at(where).str();
    report->peak_operands.clear();
    for (const OperandRef& ref : operands) append_operand(report->peak_operands, ref.access, ref.impl->shape);
    report->held = device.holders.str();
  }
  ++reports_[&device].operations;
  for (const OperandRef& ref : operands) {
    if (ref.access == Access::read) continue;
    Storage& storage = *ref.impl->storage;
    note_write(storage);
    leave_uncomputed(storage);
    if (storage.data != nullptr) continue;
    device.holders.note(storage,
                        {.operation = op_name(op, attributes), .shape = ref.impl->shape, .origin = origin_at(where)});
  }
}

void DryRun::count_data(Storage& storage, const Shape& shape, Location where) {
  DeviceState& device = state_of(storage);
  if (DryRunReport* report = new_peak(device)) {
    report->peak_operation = data_operation;
    report->peak_queued_at = origin_at(where).str();
    report->peak_operands.clear();
    append_operand(report->peak_operands, Access::write, shape);
    report->held = device.holders.str();
  }
  leave_uncomputed(storage);
  device.holders.note(storage, {.operation = data_operation, .shape = shape, .origin = origin_at(where)});
}

DryRunReport DryRun::report(const DeviceState& device) const {
  const auto report = reports_.find(&device);
  if (report == reports_.end())
    throw_error("dry_run", "there was no dry run: set Schedule::dry_run and run the program first");
  return report->second;
}

DryRunReport* DryRun::new_peak(DeviceState& device) {
  const std::int64_t level = device.serial_live.total();
  device.admission().raise_level(level);  // for memory_figures()
  DryRunReport& report = reports_[&device];
  if (level <= report.serial_peak_bytes) return nullptr;
  report.serial_peak_bytes = level;
  return &report;
}

void DryRun::leave_uncomputed(Storage& storage) { failures_.poison(storage, *cause_, storage.has_value); }

}  // namespace detail

std::string DryRunReport::str() const {
  std::string text = fmt::format("{} operations; their serial peak is {} bytes", operations, serial_peak_bytes);
  if (peak_operation.empty()) return text + ", live before the first of them";
  text += fmt::format(", reached by [{}] of {}\n  queued at {}", peak_operation, peak_operands, peak_queued_at);
  if (recomputed_operations > 0) {
    text += fmt::format("\n  {} of the operations compute a value again: + {:.1f} % of work", recomputed_operations,
                        100 * added_work);
  }
  return text + held;
}

}  // namespace asyncgrad
