// Memory figures. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "asyncgrad/core/device.h"

namespace asyncgrad {

// All in bytes, for one device. Live memory is what tensors' values occupy, parameters included; memory is taken when
// an operation starts and given back when its last reader has ended and no handle is left. Live memory and its peak are
// exact, to the byte, however many threads compute.
struct MemoryFigures {
  std::int64_t live_bytes = 0;
  std::int64_t peak_live_bytes = 0;    // since the start or reset_peaks()
  std::int64_t serial_live_bytes = 0;  // what would be live if everything queued ran at its call
  std::int64_t serial_peak_bytes = 0;  // the largest of that since the start or reset_peaks()
  std::int64_t waiting_bytes = 0;      // live without a handle: kept only by operations that are not finished
  std::int64_t cached_bytes = 0;     // given back by tensors, kept for the next ones; on a CPU without blocks up to 512
                                     // bytes, which are never given back to the system
  std::int64_t workspace_bytes = 0;  // kernels' scratch, of all computing threads
  std::int64_t budget_bytes = 0;     // what the admission rule holds to now; -1: unbounded
  // How far peak_live_bytes is above a budget of so many bytes: what the program needs in its own order, such as data
  // larger than the budget. 0 under any other budget.
  std::int64_t excess_bytes = 0;
};
MemoryFigures memory_figures(Device device = default_device());

// Starts the peaks anew from what is live and queued now, of memory and of engine_figures().
void reset_peaks(Device device = default_device());

// Gives all cached_bytes back to the system. On an asynchronous device it waits until everything is finished.
void trim_cache(Device device = default_device());

// The resident set of the process, from the operating system.
std::int64_t resident_bytes();

// Live memory over time, exact: every change between construction and destruction is seen. One at a time for a device;
// a second throws Error.
class LiveBytesTimeline {
 public:
  struct Sample {
    double elapsed_s;         // since construction, where the interval begins
    std::int64_t live_bytes;  // the maximum within the interval
  };
  // Intervals are made longer as needed, so that there are never more than `most_samples` of them: 2 to a
  // million.
  explicit LiveBytesTimeline(Device device = default_device(), int most_samples = 2000);
  LiveBytesTimeline(const LiveBytesTimeline&) = delete;
  LiveBytesTimeline& operator=(const LiveBytesTimeline&) = delete;
  ~LiveBytesTimeline();

  // What was seen so far. Intervals in which nothing changed are left out.
  std::vector<Sample> samples() const;

  struct Recorder;

 private:
  Device device_;
  std::unique_ptr<Recorder> recorder_;
};

}  // namespace asyncgrad
