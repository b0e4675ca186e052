// Counts operations under Schedule::dry_run, which queues nothing. Internal.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "asyncgrad/core/dry_run.h"
#include "asyncgrad/core/engine/admission/device_state.h"
#include "asyncgrad/core/engine/run/failure.h"
#include "asyncgrad/core/engine/submit.h"

namespace asyncgrad::detail {

// The name of what hands data of the program over.
inline constexpr const char* data_operation = "from";

// Storages keep their sizes and never get memory, so the serial level is what it would be. Values are poisoned instead
// of computed, so that operations that use them later, under another schedule, are skipped. A value that was there
// before keeps its old bytes, and recover() makes it valid again. Thread safety: all under the front end's lock.
class DryRun {
 public:
  explicit DryRun(Failures& failures) : failures_(failures) {}

  // Starts, or restarts, to count for a device.
  void reset(DeviceState& device);
  void count_operation(const Submission& submission);
  void count_data(Storage& storage, const Shape& shape, Location where);
  DryRunReport report(const DeviceState& device) const;

 private:
  // The report to write the operation into, if the device's level is a new peak now; else null.
  DryRunReport* new_peak(DeviceState& device);
  void leave_uncomputed(Storage& storage);

  Failures& failures_;
  Failure* cause_ = nullptr;  // a later use of such a value throws it; made once and kept
  std::map<const DeviceState*, DryRunReport> reports_;
};

}  // namespace asyncgrad::detail
