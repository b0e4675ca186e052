// Reports how much memory a program would need, without computing anything. Any thread may call these functions.
//
//   set_engine_options({.schedule = Schedule::dry_run});
//   train_one_step();                                    // shapes only: takes no time and no memory
//   std::cout << dry_run_report().str() << '\n';
//   set_engine_options({});
//   recover();  // values that the step would have written in place, such as parameters, are valid again
#pragma once

#include <cstdint>
#include <string>

#include "asyncgrad/core/device.h"

namespace asyncgrad {

// The counts of one device since Schedule::dry_run was set, or since reset_peaks() under it.
struct DryRunReport {
  std::int64_t operations = 0;         // data handed over by `from` not included
  std::int64_t serial_peak_bytes = 0;  // equals MemoryFigures::serial_peak_bytes of a real run, to the byte
  // The first operation at which that much is live: its name, its operands' shapes, and where it was queued. Empty if
  // live memory never rose above what was live before.
  std::string peak_operation{}, peak_operands{}, peak_queued_at{};

  // The largest values at that moment, if they take 1 MiB or more, one on each line: "held: BYTES by OPERATION SHAPE,
  // queued at LINE; a parameter". With EngineOptions::recompute_to_fit it also says why a value is not dropped. A last line
  // adds up all values of 1 MiB or more by what they are: parameters, optimisers' states, gradients, the program's.
  std::string held{};
  // With EngineOptions::recompute_to_fit: operations that compute a value again, and what they take divided by what the
  // others take. The serial peak includes them.
  std::int64_t recomputed_operations = 0;
  double added_work = 0;

  std::string str() const;  // a few lines of text
};
// The report of the dry run that is under way, or of the last one. Does not block. Throws Error if there was none.
DryRunReport dry_run_report(Device device = default_device());

}  // namespace asyncgrad
