// Which value is dropped next.
#include <algorithm>
#include <cmath>
#include <limits>

#include "asyncgrad/autograd/budget/references.h"
#include "asyncgrad/core/memory/device_memory.h"
#include "asyncgrad/core/sync/raise_to.h"

namespace asyncgrad::detail {

namespace {

// About as many values are searched anew for each one that is dropped; the work of others is from some scans before.
constexpr std::uint64_t searches_per_scan = 64;
// A value is not dropped if an operation that computes it again would write more than so many times its bytes.
constexpr std::int64_t max_bytes_per_byte = 8;
// The part of the budget up to which values stay: the rest is for sources that run ahead.
constexpr double kept_share = 0.96;

}  // namespace

void Plan::make_room(DeviceMemory& device) {
  if (!is_on()) return;
  const auto kept =
      static_cast<std::int64_t>(kept_share * static_cast<double>(budget_bytes_.load(std::memory_order_relaxed)));
  for (;;) {
    const std::int64_t level = device.serial_live.total();
    // Relaxed: a hint that falls behind at worst.
    if (level <= std::max(kept, device.planned_level.load(std::memory_order_relaxed)) && !drops_all_) return;
    const HandleToDrop dropped = [&]() -> Storage* {
      const SpinLockGuard lock(lock_);
      Contents* const contents = cheapest(device);
      return contents == nullptr ? nullptr : leave(*contents);
    }();
    if (dropped.is_none()) {
      if (level > kept) raise_to(device.planned_level, level, std::memory_order_relaxed);
      return;
    }
  }
}

Contents* Plan::cheapest(const DeviceMemory& device) {
  ++scans_;
  const std::uint64_t scans_between_searches = candidates_ / searches_per_scan;
  Contents* const found = cheapest_searched_within(scans_between_searches, device);
  // What was found impossible some scans before may be possible now.
  return found == nullptr && scans_between_searches > 0 ? cheapest_searched_within(0, device) : found;
}

Contents* Plan::cheapest_searched_within(std::uint64_t scans, const DeviceMemory& device) {
  for (;;) {
    Contents* best = nullptr;
    double least = std::numeric_limits<double>::infinity();
    for (Contents* contents = first_candidate_; contents != nullptr; contents = contents->after) {
      if (!may_go(*contents, device)) continue;
      if (contents->last_search + scans < scans_) find_work_to_drop(*contents);
      if (contents->work_to_drop < 0) continue;
      const auto age = static_cast<double>(queued_work_ - contents->last_use + 1);
      const double price = static_cast<double>(contents->work_to_drop) /
                           (static_cast<double>(contents->storage->size_bytes) * std::sqrt(age));
      if (price >= least) continue;
      least = price;
      best = contents;
    }
    if (best == nullptr || best->last_search == scans_) return best;
    find_work_to_drop(*best);
    if (best->work_to_drop >= 0) return best;
  }
}

// Whether the planner alone holds the contents, in a storage of the device.
bool Plan::may_go(const Contents& contents, const DeviceMemory& device) const {
  const Storage* const storage = contents.storage;
  // Acquire: the threads that dropped the other handles are done with the storage.
  return storage != nullptr && storage->device == &device && storage->handles.load(std::memory_order_acquire) == 1 &&
         !(keeps_values_.load(std::memory_order_relaxed) && storage->has_value);
}

void Plan::find_work_to_drop(Contents& contents) {
  contents.work_to_drop = work_to_drop(contents);
  contents.last_search = scans_;
}

std::int64_t Plan::work_to_drop(Contents& contents) {
  const std::int64_t work = work_to_compute(contents);
  if (work < 0 || largest_results_ > max_bytes_per_byte * contents.storage->size_bytes) return -1;
  return depth_below(contents) + depth_above(contents) <= max_depth ? work : -1;
}

std::int64_t Plan::work_to_compute(Contents& contents, bool from_closing) {
  ++searches_;
  largest_results_ = 0;
  return search(contents, from_closing);
}

std::int64_t Plan::search(Contents& contents, bool from_closing) {
  contents.mark = searches_;
  if (contents.recipe == nullptr) return -1;
  std::int64_t work = contents.recipe->work;
  largest_results_ = std::max(largest_results_, contents.recipe->result_bytes);
  for (const Recipe::Read& read : contents.recipe->reads) {
    Contents& operand = *read.contents;
    const bool can_be_read = from_closing ? operand.is_there() : operand.is_available();
    if (can_be_read || operand.mark == searches_) continue;
    const std::int64_t more = search(operand, from_closing);
    if (more < 0) return -1;
    work += more;
  }
  return work;
}

int Plan::depth_below(Contents& contents) {
  ++searches_;
  return search_below(contents);
}

int Plan::search_below(Contents& contents) {
  contents.depth_mark = searches_;
  contents.depth = 1;
  if (contents.recipe == nullptr) return 1;
  for (const Recipe::Read& read : contents.recipe->reads) {
    Contents& operand = *read.contents;
    if (operand.is_available()) continue;
    const int below = operand.depth_mark == searches_ ? operand.depth : search_below(operand);
    contents.depth = std::max(contents.depth, 1 + below);
  }
  return contents.depth;
}

int Plan::depth_above(Contents& contents) {
  ++searches_;
  return search_above(contents);
}

int Plan::search_above(Contents& contents) {
  contents.depth_mark = searches_;
  contents.depth = 0;
  for (const Need* need = contents.needed_by; need != nullptr; need = need->after) {
    Contents& reader = *need->reader;
    const int above = reader.depth_mark == searches_ ? reader.depth : search_above(reader);
    contents.depth = std::max(contents.depth, 1 + above);
  }
  return contents.depth;
}

}  // namespace asyncgrad::detail
