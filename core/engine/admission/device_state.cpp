#include "asyncgrad/core/engine/admission/device_state.h"

#include <algorithm>

namespace asyncgrad::detail {

void DeviceState::set_order(Order* program, std::size_t slots, std::uint64_t next) {
  // No device has given out a larger number than the program's order has.
  if (program != nullptr) {
    order = std::make_unique<DeviceOrder>(*program, next, true);
  } else if (order == nullptr || order->is_of_program() || order->order().slots() != slots) {
    Order& own = orders_.get(slots, next);
    order = std::make_unique<DeviceOrder>(own, next, false);
    own.pass_all_before(next);
  }
}

void DeviceState::set_up(std::size_t slots, MemoryBudget budget, std::int64_t max_cached_bytes) {
  Admission& started = admissions_.get(slots);
  started.start(budget, serial_live.total());
  admission_.store(&started, std::memory_order_release);
  allocator.set_limit(started.limit());
  allocator.set_max_cached(max_cached_bytes);
}

bool DeviceState::note_level() {
  std::int64_t level = serial_live.total();
  if (level <= admission().level_since_queued()) return false;  // already noted
  // Reads the shards again: during the first reading one thread may drop memory that was counted already, and another
  // may take as much, which is then counted, too.
  if (admission().is_largest(level)) level = std::min(level, serial_live.total());
  if (!admission().note_level(level)) return false;
  allocator.set_limit(admission().limit());
  return true;
}

void DeviceState::reset_peaks() {
  planned_level.store(0, std::memory_order_relaxed);
  admission().reset_serial_peak(serial_live.total());
  allocator.reset_peak();
  peak_under_way_.store(under_way_.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

void DeviceState::forget_levels() {
  planned_level.store(0, std::memory_order_relaxed);
  admission().set_largest(serial_live.total());
  allocator.set_limit(admission().limit());
}

}  // namespace asyncgrad::detail
