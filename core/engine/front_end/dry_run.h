// What Schedule::dry_run does in place of queueing: it counts. Internal.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "asyncgrad/core/dry_run.h"
#include "asyncgrad/core/engine/admission/device_state.h"
#include "asyncgrad/core/engine/run/failure.h"
#include "asyncgrad/core/engine/submit.h"

namespace asyncgrad::detail {

// Storages keep their sizes and never get memory, so the serial level is what it would be. Values are poisoned instead
// of computed, which holds back whatever uses them under another schedule later; a value that was there before is old,
// and recover() brings it back. Thread safety: all under the front end's lock.
class DryRun {
 public:
  explicit DryRun(Failures& failures) : failures_(failures) {}

  // Starts to count for a device, or starts anew.
  void reset(DeviceState& device);
  void count_operation(const Submission& submission);
  void count_data(Storage& storage, const Shape& shape, Location where);
  DryRunReport report(const DeviceState& device) const;

 private:
  // The place that takes what was queued, if the device's level is a new peak now; else null.
  DryRunReport* new_peak(DeviceState& device);
  void leave_uncomputed(Storage& storage);

  Failures& failures_;
  Failure* cause_ = nullptr;  // what a use of such a value throws later; made once, kept for good
  std::map<const DeviceState*, DryRunReport> reports_;
};

}  // namespace asyncgrad::detail
