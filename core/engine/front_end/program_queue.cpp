#include "asyncgrad/core/engine/front_end/program_queue.h"

#include <algorithm>
#include <bit>
#include <thread>

#include "asyncgrad/core/engine/front_end/new_entry.h"
#include "asyncgrad/core/engine/run/execution.h"
#include "asyncgrad/core/engine/run/operation_profile.h"
#include "asyncgrad/core/engine/schedule/executors.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::detail {

// Whether a few tiny operations are all that is unfinished. Then the calling thread computes them: queueing behind them
// would cost more, and a program of tiny operations that was queued once would be queued for ever.
bool ProgramQueue::has_few_unfinished() {
  const bool may_be_tiny = dependencies_.oldest_seen() > last_large_ || dependencies_.see_oldest() > last_large_;
  return may_be_tiny &&
         next_.load(std::memory_order_relaxed) - dependencies_.oldest_seen() <= StagedOperations::max_count;
}

bool ProgramQueue::has_room(const Submission& submission) {
  const std::uint64_t next = next_.load(std::memory_order_relaxed);
  const auto capacity = static_cast<std::uint64_t>(options_.queue_capacity);
  if (next - dependencies_.oldest_seen() >= capacity && next - dependencies_.see_oldest() >= capacity) return false;
  if (!state_of(*submission.operands[0].impl->storage).order->has_room()) return false;
  // Only a copy touches two devices. Other inputs' storages are not read, because workers write to them at the end of
  // every use.
  if (submission.op == Op::copy && !state_of(*submission.operands[1].impl->storage).order->has_room()) return false;
  // The thread that completed the slot's last operation must be done with it. It soon will be, because f has passed the
  // operation. Acquire: its writes are seen.
  const Operation& operation = context_.ring.at(next);
  return operation.retired.load(std::memory_order_acquire) == operation.number;
}

std::uint64_t ProgramQueue::number_with_room() const {
  const auto capacity = static_cast<std::uint64_t>(options_.queue_capacity);
  const std::uint64_t next = next_.load(std::memory_order_relaxed);
  return next < capacity ? 0 : next - capacity + 1 + capacity / 8;
}

// It doubles with every operation that was queued meanwhile: what is queued while threads wait is finished before long,
// unless single operations take longer than the longest patience. Only a function of the program may wait for what a
// thread is about to queue: while one is the oldest operation, patience is short, and stays so.
std::int64_t ProgramQueue::patience_us() const {
  constexpr std::int64_t of_functions_us = 20'000, shortest_us = 100'000;
  constexpr int max_doublings = 6;
  if (!is_idle_wanted() || IdleWanted::count_here() > 0) return 0;
  const std::uint64_t oldest = context_.ring.oldest().load(std::memory_order_seq_cst);
  if (oldest < next_number() && runs_function(context_.ring.at(oldest).invocation.op)) return of_functions_us;
  return shortest_us << std::min(passes_.load(std::memory_order_relaxed), max_doublings);
}

// Throws std::bad_alloc with nothing changed.
void ProgramQueue::queue(const Route& route, const Submission& submission, Wakeups& wakeups) {
  Operation& operation = context_.ring.at(next_number());
  // Workers used the entries last: their cache lines are fetched early, so that they are here when they are needed.
  prefetch_for_writing(context_.ring.at(next_number() + 3));
  dependencies_.recycle(operation);
  operation.make_room(submission.operands.size());
  dependencies_.reserve(submission.operands, staged_);
  // Nothing from here on may fail, because an exception would lose the wakeup.
  if (!staged_.is_empty() && staged_.executor() != &route.executor) wakeups.earlier = offer();
  const std::uint64_t next = next_number() + 1;
  fill_entry(operation, next - 1, route, submission);
  context_.ring.awaited().clear(context_.ring.slot(next - 1));
  next_.store(next, std::memory_order_relaxed);
  take_places(operation, submission, context_.executors);
  dependencies_.link(operation, submission.operands, staged_);
  report_queued(operation);
  // Reads the exact length of the queue only if it may be the longest so far.
  if (static_cast<std::int64_t>(next - dependencies_.oldest_seen()) > peak_queued_) {
    peak_queued_ = std::max(peak_queued_, static_cast<std::int64_t>(next - dependencies_.see_oldest()));
  }
  const bool is_large = operation.weight == Weight::large;
  if (is_large) last_large_ = operation.number;
  staged_.add(operation);
  has_staged_.store(true, std::memory_order_relaxed);
  if (is_large || staged_.is_full() || !route.executor.may_be_staged()) wakeups.own = offer();
}

Wakeup ProgramQueue::offer() {
  if (staged_.is_empty()) return {};
  const std::uint64_t ready = dependencies_.tie(staged_);
  const std::uint64_t first = staged_.first();
  Executor& executor = *staged_.executor();
  staged_.clear();
  has_staged_.store(false, std::memory_order_relaxed);
  if (ready == 0) return {};
  // Only the youngest operation can be large.
  const std::uint64_t last = std::bit_floor(ready);
  const Operation& youngest = context_.ring.at(first + static_cast<std::uint64_t>(std::countr_zero(last)));
  const bool has_large = youngest.weight == Weight::large, has_tiny = !has_large || ready != last;
  executor.make_ready(first, ready);
  // Threads that compute will find the tiny operations.
  const bool is_left = has_tiny && executor.workers().leave_to_computing_thread();
  if (has_tiny && !is_left) executor.workers().leave_rest();
  return {&executor, (has_large ? 1 : 0) + (has_tiny && !is_left ? 1 : 0)};
}

// Takes the lock even if nothing seems to be staged: another thread may be queueing what this one waits for.
void ProgramQueue::offer_staged(const Executor* computed_for) {
  Wakeup wakeup;
  {
    const SpinLockGuard lock(lock_);
    wakeup = offer();
  }
  if (wakeup.executor != computed_for) wakeup.send();
}

// Where only tiny operations are unfinished the wait is short, and marks would cost more than they save.
// It does not insist on the lock, because a mark changes no result.
bool ProgramQueue::begin_preference(std::uint64_t number) {
  constexpr int max_tries = 256;  // others hold the lock for less than that
  for (int tries = 0; !lock_.try_lock(); ++tries) {
    if (tries == max_tries) return false;
    pause_briefly();
  }
  Awaited& awaited = context_.ring.awaited();
  const std::uint64_t oldest = dependencies_.see_oldest();
  bool begins = number > oldest && last_large_ >= oldest;
  if (begins) {
    awaited.begin();
    begins = dependencies_.mark_needed(number);
    if (!begins) awaited.end();
  }
  lock_.unlock();
  // An operation that was refused before it was marked may fit into the reserve, and this thread may not look for it.
  if (begins) context_.executors.retry_refused();
  return begins;
}

// A worker must not wait for the lock. It offers operations of other executors, too: they may wait for what this worker
// has done.
bool ProgramQueue::try_to_offer_staged(const Executor& executor) {
  if (!has_staged_.load(std::memory_order_relaxed)) return false;
  if (!lock_.try_lock()) {
    std::this_thread::yield();
    return true;  // its holder queues: there may be something to compute soon
  }
  const bool is_own = !staged_.is_empty() && staged_.executor() == &executor;
  const Wakeup wakeup = offer();
  lock_.unlock();
  if (wakeup.executor != &executor) wakeup.send();
  return is_own;
}

// Relaxed: a thread that has queued an operation, or knows of it from the thread that has, sees the mark from then on.
void ProgramQueue::try_to_offer_staged() {
  if (!has_staged_.load(std::memory_order_relaxed) || !lock_.try_lock()) return;
  const Wakeup wakeup = offer();
  lock_.unlock();
  wakeup.send();
}

void ProgramQueue::set_up(bool has_new_entries) {
  if (has_new_entries) dependencies_.forget();
  is_dry_run_.store(options_.schedule == Schedule::dry_run, std::memory_order_relaxed);
}

void ProgramQueue::begin_dry_run(std::span<DeviceState* const> devices) {
  if (!is_dry_run()) return;
  for (DeviceState* device : devices) dry_run_.reset(*device);
}

}  // namespace asyncgrad::detail
