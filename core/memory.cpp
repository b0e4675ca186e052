#include "asyncgrad/core/memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>

#include "asyncgrad/core/engine/engine.h"
#include "asyncgrad/core/engine/front_end/figures.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/memory/planner.h"
#include "asyncgrad/core/memory/timeline.h"

namespace asyncgrad {

namespace {

// A count that other threads change meanwhile may look negative, because a decrease may be seen before its increase.
std::int64_t at_least_0(std::int64_t count) { return std::max<std::int64_t>(0, count); }

constexpr int max_samples_of_all = 1'000'000;

}  // namespace

MemoryFigures memory_figures(Device device) {
  detail::Engine::get();  // sets the engine up, which completes the device's state
  detail::DeviceState& state = detail::device_state(device);
  const detail::Allocator::Figures allocator = state.allocator.figures();
  const std::int64_t limit = state.admission().limit();
  return {.live_bytes = allocator.live_bytes,
          .peak_live_bytes = allocator.peak_live_bytes,
          .serial_live_bytes = at_least_0(state.serial_live.total()),
          .serial_peak_bytes = state.admission().serial_peak(),
          .waiting_bytes = at_least_0(state.waiting.total()),
          .cached_bytes = allocator.cached_bytes,
          .workspace_bytes = state.workspace.load(std::memory_order_relaxed),
          .peak_under_way_bytes = state.peak_under_way(),
          .budget_bytes = limit == std::numeric_limits<std::int64_t>::max() ? -1 : limit,
          .excess_bytes = state.admission().excess(allocator.peak_live_bytes)};
}

void reset_peaks(Device device) {
  detail::reset_peaks(detail::Engine::get().queue(), detail::device_state(device));
  if (detail::Planner* const planner = detail::Planner::get()) planner->reset_figures();
}

void trim_cache(Device device) { detail::Engine::get().trim_cache(detail::device_state(device)); }

std::int64_t resident_bytes() {
  long long all_pages = 0, resident_pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lld %lld", &all_pages, &resident_pages) != 2) resident_pages = 0;
    std::fclose(file);
  }
  return resident_pages * sysconf(_SC_PAGESIZE);
}

LiveBytesTimeline::LiveBytesTimeline(Device device, int max_samples)
    : recording_(&detail::device_state(device).allocator.recording()) {
  if (max_samples < 2 || max_samples > max_samples_of_all) {
    throw_error("timeline", fmt::format("max_samples must be 2 to {}, got {}", max_samples_of_all, max_samples));
  }
  recorder_ = std::make_unique<Recorder>(max_samples);
  if (!recording_->begin(*recorder_)) throw_error("timeline", "this device has a timeline already");
}

LiveBytesTimeline::~LiveBytesTimeline() { recording_->end(); }

std::vector<LiveBytesTimeline::Sample> LiveBytesTimeline::samples() const { return recording_->samples(); }

}  // namespace asyncgrad
