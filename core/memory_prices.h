// What a memory budget below the serial peak costs, before anything is computed.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "asyncgrad/core/device.h"

namespace asyncgrad {

struct MemoryPrice {
  double share = 1;                        // of the serial peak
  std::int64_t serial_peak_bytes = 0;      // of a step that computes nothing again
  std::int64_t budget_bytes = 0;           // the share of it
  std::int64_t recompute_peak_bytes = 0;   // the serial peak within that budget; larger than it if it cannot be kept
  std::int64_t recomputed_operations = 0;  // operations of a step that compute a value again
  double added_work = 0;                   // what they take, divided by what all others take
};

// The prices of EngineOptions::recompute_to_fit for budgets that are shares of the step's serial peak. `step` queues a
// step of training; it is called twice for each share and twice before, under Schedule::dry_run, and the second call is
// counted. Other options are those in force. A real run with the same options and one queueing thread has the same
// figures.
//
// Waits until everything is finished, and throws the oldest Error that no wait has thrown yet; no other thread may queue
// operations meanwhile. The default generator and the options are put back, and parameters have their values again;
// what else `step` changes is the caller's. Throws what `step` throws: Error, for example, if it looks at values, which
// do not exist. Throws Error for a share that is not in (0, 1].
//
//   for (const ag::MemoryPrice& price : ag::memory_prices([&] { train_one_step(); }, {1, 0.67, 0.5})) {
//     std::printf("%3.0f %%: + %.1f %% of work\n", 100 * price.share, 100 * price.added_work);
//   }
std::vector<MemoryPrice> memory_prices(const std::function<void()>& step, const std::vector<double>& shares,
                                       Device device = default_device());

}  // namespace asyncgrad
