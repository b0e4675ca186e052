#include "asyncgrad/core/engine/schedule/executors.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "asyncgrad/core/error.h"

namespace asyncgrad::detail {

// The thread that finished the last operations may still be inside finish(), although nothing waits for it.
Executors::Replacement::Replacement(Executors& executors) : executors_(executors) {
  executors_.are_replaced_.store(true, std::memory_order_seq_cst);
  while (executors_.are_visited()) std::this_thread::yield();
  for (const auto& executor : executors_.all()) executor->workers().stop();
}

Executor& Executors::add(std::unique_ptr<Executor> executor) {
  const int count = count_.load(std::memory_order_relaxed);
  if (count == max_count) throw_error("engine", fmt::format("there cannot be more than {} executors", max_count));
  Executor& added = *executor;
  executors_[static_cast<std::size_t>(count)] = std::move(executor);
  count_.store(count + 1, std::memory_order_release);
  return added;
}

void Executors::clear() {
  for (int i = count_.exchange(0, std::memory_order_relaxed); i-- > 0;) {
    executors_[static_cast<std::size_t>(i)].reset();
  }
}

bool Executors::others_compute(Executor& executor) const {
  if (executor.workers().others_compute()) return true;
  return std::ranges::any_of(
      all(), [&executor](const auto& other) { return other.get() != &executor && !other->workers().is_idle(); });
}

// The executors' own marks are set before the common mark, and it is there as long as one of them is: a thread that
// makes room without seeing it does so before it is set again, and then this looks once more.
void Executors::retry_all_refused() {
  if (retry_each()) return;
  refused_.store(false, std::memory_order_seq_cst);
  if (!retry_each()) return;
  note_refused();
  retry_each();
}

// True if some operations are still refused.
bool Executors::retry_each() {
  bool are_left = false;
  for (const auto& executor : all()) are_left |= executor->retry_refused();
  return are_left;
}

void Executors::trim_other_parts(const DeviceState& device) {
  for (const auto& executor : all()) {
    DeviceState& other = executor->device();
    if (&other != &device && !other.is_asynchronous) other.allocator.trim();
  }
}

}  // namespace asyncgrad::detail
