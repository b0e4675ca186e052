// Memory figures. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "asyncgrad/core/device.h"

namespace asyncgrad {

namespace detail {
class LiveRecording;
}

// All figures are in bytes, for one device. Live memory is what tensors' values occupy, parameters included. Memory is
// taken when an operation starts, and given back when the last operation that reads it has ended and no handle is left.
// Live memory and its peak are exact, to the byte, however many threads compute.
struct MemoryFigures {
  std::int64_t live_bytes = 0;
  std::int64_t peak_live_bytes = 0;    // since the start or reset_peaks()
  std::int64_t serial_live_bytes = 0;  // what would be live if every operation ran at its call
  std::int64_t serial_peak_bytes = 0;  // the largest value of that since the start or reset_peaks()
  std::int64_t waiting_bytes = 0;      // live memory without a handle, which only unfinished operations still use
  std::int64_t cached_bytes = 0;       // memory that tensors have given back and that is kept for the next ones; on a
                                       // CPU without blocks of up to 512 bytes, which are always kept
  std::int64_t workspace_bytes = 0;    // scratch memory of kernels, of all threads that compute
  // The most memory, since the start or reset_peaks(), that copies between parts of the CPU, sources and collectives held
  // at once after they had begun. It comes on top of the budget.
  std::int64_t peak_under_way_bytes = 0;
  std::int64_t budget_bytes = 0;  // the budget in force now; -1 if it is unbounded
  // How far peak_live_bytes is above MemoryBudget::bytes(): the program needs that much when it runs in its own order,
  // for data that is larger than the budget, for example. 0 under any other budget.
  std::int64_t excess_bytes = 0;
};
// Throws Error if there is no such device.
MemoryFigures memory_figures(Device device = default_device());

// Starts the peaks again, of memory and of engine_figures(), from what is live and queued now.
void reset_peaks(Device device = default_device());

// Gives cached memory back to the system, on a CPU that of pinned tensors, too. What tensors below a megabyte had on a GPU,
// or pinned, stays. On a GPU it waits until everything is finished.
void trim_cache(Device device = default_device());

// The resident set of the process in bytes, from the operating system.
std::int64_t resident_bytes();

// Records live memory over time, from construction to destruction. It sees every change. A device has one recorder at
// most: the constructor of a second throws Error.
class LiveBytesTimeline {
 public:
  struct Sample {
    double elapsed_s;         // the time from construction to the beginning of the interval
    std::int64_t live_bytes;  // the maximum in the interval
  };
  // Intervals grow with time, so that there are never more than `max_samples` of them: 2 to a million.
  explicit LiveBytesTimeline(Device device = default_device(), int max_samples = 2000);
  LiveBytesTimeline(const LiveBytesTimeline&) = delete;
  LiveBytesTimeline& operator=(const LiveBytesTimeline&) = delete;
  ~LiveBytesTimeline();

  // Returns the samples so far, without intervals in which live memory did not change. Does not block.
  std::vector<Sample> samples() const;

  struct Recorder;

 private:
  detail::LiveRecording* recording_;  // the device's, which is never destroyed
  std::unique_ptr<Recorder> recorder_;
};

}  // namespace asyncgrad
