// How operations run: the part of the engine that workers and waiting threads are in.
#include <algorithm>
#include <chrono>
#include <new>
#include <thread>

#include "asyncgrad/core/engine/engine.h"
#include "asyncgrad/core/engine/execution.h"
#include "asyncgrad/core/engine/profile.h"

namespace asyncgrad::detail {

namespace {

constexpr int most_refusals = 4;  // of one search: what is younger is not likely to fare better

// Calls a function at the end of the scope.
template <class Function>
class OnExit {
 public:
  explicit OnExit(Function function) : function_(function) {}
  OnExit(const OnExit&) = delete;
  OnExit& operator=(const OnExit&) = delete;
  ~OnExit() { function_(); }

 private:
  Function function_;
};

}  // namespace

bool Engine::run_one(std::uint64_t limit, std::uint64_t& next) {
  if (next != 0 && next <= limit) {
    Operation& operation = at(std::exchange(next, 0));
    if (start(operation, false, next) == Outcome::ran) return true;
  }
  if (ready_queue_ != nullptr) {
    const std::uint64_t number = exiting_.load(std::memory_order_relaxed) ? 0 : ready_queue_->pop(limit);
    if (number != 0) return try_run(number, next) == Outcome::ran;
  }
  const std::uint64_t first = oldest_.load(std::memory_order_seq_cst);
  int refusals = 0;
  for (std::size_t skip = 0;;) {
    const std::int64_t behind = ready_->nearest(slot(first), skip);
    if (behind < 0 || first + static_cast<std::uint64_t>(behind) > limit) return false;
    const Outcome outcome = try_run(first + static_cast<std::uint64_t>(behind), next);
    if (outcome == Outcome::ran) return true;
    if (outcome == Outcome::refused && ++refusals == most_refusals) return false;
    skip = static_cast<std::size_t>(behind) + 1;
  }
}

bool Engine::has_ready() const { return ready_queue_ != nullptr || ready_->nearest(0, 0) >= 0; }

void Engine::put_back(std::uint64_t next) {
  make_ready(at(next));
  crew_.notify(1);
}

Engine::Outcome Engine::try_run(std::uint64_t number, std::uint64_t& next) {
  Operation& operation = at(number);
  // Acquire: the record is seen as it was when it became ready, or opened.
  std::uint64_t word = operation.word.load(std::memory_order_acquire);
  Progress progress = Progress::of(word);
  if (progress.number != static_cast<std::uint32_t>(number)) return Outcome::gone;  // the slot's next owner
  if (progress.is_ready()) {
    if (exiting_.load(std::memory_order_relaxed)) return Outcome::gone;
    progress.begun = Progress::claimed;
    if (!operation.word.compare_exchange_strong(word, progress.word(), std::memory_order_acquire)) return Outcome::gone;
    return start(operation, ready_queue_ == nullptr, next);
  }
  while (progress.has_tiles() && progress.number == static_cast<std::uint32_t>(number)) {
    const int tile = progress.begun++;
    if (operation.word.compare_exchange_weak(word, progress.word(), std::memory_order_acquire)) {
      // The slot stays this operation's as long as a tile is not ended.
      if (!progress.has_tiles()) ready_->erase(slot(number));
      run_tile_of(operation, tile, next);
      return Outcome::ran;
    }
    progress = Progress::of(word);
  }
  return Outcome::gone;
}

// Of a record that this thread has claimed. `is_member`: of the ready set.
Engine::Outcome Engine::start(Operation& operation, bool is_member, std::uint64_t& next) {
  const Invocation& invocation = operation.invocation;
  Failure* cause = has_poison(invocation) ? first_cause(invocation) : nullptr;
  if (cause == nullptr) {
    DeviceState& device = *invocation.operands[0].storage->device;
    const std::int64_t bytes = bytes_to_take(invocation);
    if (!device.admission->admit(operation.number, bytes, oldest_)) {
      profile::refused(operation.number);
      // Another thread that does short work comes to it in its turn; this one would only be in its way. Else: after the
      // announcement a second look, as f may have come here, or memory returned, before anybody could read it.
      const bool is_left = operation.is_tiny && crew_.leave_to_other();
      if (!is_left) refused_.store(true, std::memory_order_seq_cst);
      if (is_left || !device.admission->admit(operation.number, bytes, oldest_)) {
        make_ready_again(operation, is_member);
        return Outcome::refused;
      }
    }
  }
  // Sequentially consistent, as is the exit, which first forbids starts and then looks for threads on a seat, such as
  // this one.
  if (exiting_.load(std::memory_order_seq_cst)) return Outcome::gone;
  Failure* own = nullptr;
  if (cause == nullptr) {
    try {
      if (!take_or_park(operation, is_member)) return Outcome::refused;
      if (invocation.kernel->prepare != nullptr) invocation.kernel->prepare(invocation.call());
    } catch (...) {
      own = fail(invocation, operation.number);
    }
  }
  if (is_member) ready_->erase(slot(operation.number));
  if (cause != nullptr || own != nullptr) {
    complete(operation, cause != nullptr ? cause : own, false, next);
    if (own != nullptr) failures_.let_go(*own);
    return Outcome::ran;
  }
  prefetch_for_reading(at(operation.number + 2));
  if (operation.tiles > 1) open(operation);
  run_tile_of(operation, 0, next);
  return Outcome::ran;
}

// Takes the operation's memory. If there is none: the oldest operation waits while other threads compute, which may
// return some, and then throws std::bad_alloc. Any other is ready again, which is the meaning of false, and is tried
// again when one that is older has ended. Both have an end: others that compute come to the end of what they do, and
// meet the same want with what they begin; and the oldest ends, one way or the other.
bool Engine::take_or_park(Operation& operation, bool is_member) {
  if (auto* hook = hook_.load(std::memory_order_acquire)) {
    crew_.begin_long();
    const OnExit end([this] { crew_.end_long(); });
    hook(operation.number);
  }
  for (bool is_alone = false;;) {
    try {
      take_memory(operation.invocation, operation.number);
      return true;
    } catch (const std::bad_alloc&) {
      if (is_alone) throw;
    }
    if (oldest_.load(std::memory_order_seq_cst) == operation.number) {
      is_alone = !crew_.others_compute();
      if (!is_alone) std::this_thread::sleep_for(std::chrono::microseconds(20));
      continue;
    }
    DeviceState& device = *operation.invocation.operands[0].storage->device;
    device.admission->give_back(operation.number, bytes_to_take(operation.invocation));
    refused_.store(true, std::memory_order_seq_cst);  // whoever ends an operation looks for it
    make_ready_again(operation, is_member);
    return false;
  }
}

// Of a record that this thread has claimed and cannot run now. f's arrival in the meantime finds either this store or,
// in its own search, the claim; the store is followed by one more look at f.
void Engine::make_ready_again(Operation& operation, bool is_member) {
  const std::uint64_t number = operation.number;
  operation.word.store(Progress{static_cast<std::uint32_t>(number), 0, Progress::ready}.word(),
                       std::memory_order_seq_cst);
  if (ready_queue_ != nullptr) {
    ready_queue_->push(number);
  } else if (!is_member) {
    ready_->insert(slot(number));
  }
  if (oldest_.load(std::memory_order_seq_cst) == number) crew_.notify(1);
}

// The first tile is the caller's.
void Engine::open(Operation& operation) {
  const int tiles = operation.tiles;
  operation.tiles_left.store(tiles, std::memory_order_relaxed);
  // Release: whoever joins sees the memory that was taken. Sequentially consistent, as the search for work that follows
  // an insertion must find it.
  operation.word.store(
      Progress{static_cast<std::uint32_t>(operation.number), static_cast<std::uint16_t>(tiles), 1}.word(),
      std::memory_order_seq_cst);
  ready_->insert(slot(operation.number));
  crew_.notify(tiles - 1);
}

void Engine::run_tile_of(Operation& operation, int tile, std::uint64_t& next) {
  const bool is_long = !operation.is_tiny;
  if (is_long) crew_.begin_long();
  try {
    const profile::TileSpan span(operation.number, tile);
    // Once a tile has failed the others need not run.
    for (int part = tile; part < operation.kernel_tiles; part += operation.tiles) {
      if (operation.failure.load(std::memory_order_relaxed) == nullptr) run_tile(operation.invocation, part);
    }
  } catch (...) {
    Failure* failure = fail(operation.invocation, operation.number);
    Failure* none = nullptr;
    if (!operation.failure.compare_exchange_strong(none, failure, std::memory_order_relaxed)) {  // see tiles_left
      failure->delivered.store(true, std::memory_order_relaxed);  // one operation, one error
      failures_.let_go(*failure);
    }
  }
  if (is_long) crew_.end_long();
  if (operation.tiles > 1 && operation.tiles_left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  Failure* failure = operation.failure.load(std::memory_order_relaxed);
  complete(operation, failure, true, next);
  if (failure != nullptr) failures_.let_go(*failure);
}

void Engine::complete(Operation& operation, Failure* failure, bool started, std::uint64_t& next) {
  const std::uint64_t number = operation.number;
  settle(operation.invocation, failure, started, failures_);
  release_operands(operation.invocation);
  profile::ended(number, failure != nullptr);
  // "Finished, then f", see Admission's invariant 3: a store and a load that must not change places, nor the looks for
  // refused and sleeping threads below. The oldest operation has f's own step for that, if no other thread makes it.
  if (oldest_.load(std::memory_order_relaxed) == number) {
    operation.finished.store(number, std::memory_order_release);
    if (!advance_oldest()) operation.finished.exchange(number, std::memory_order_seq_cst);
  } else {
    operation.finished.store(number, std::memory_order_seq_cst);
    advance_oldest();
  }
  const int ready = release_successors(operation, next);
  operation.retired.store(number, std::memory_order_release);  // from here on the record may be another operation's
  if (ready > 0) crew_.notify(ready);
  retry_refused();
  crew_.wake_waiters();
}

// How many became ready for other threads: this one goes on with the first.
int Engine::release_successors(Operation& operation, std::uint64_t& next) {
  // Acquire: the edges as the front end wrote them; release: nothing here moves behind it.
  Edge* edge = operation.successors.exchange(closed_list(), std::memory_order_acq_rel);
  Edge* in_order = nullptr;  // the list has the youngest first
  while (edge != nullptr) in_order = std::exchange(edge, std::exchange(edge->next, in_order));
  int ready = 0;
  bool has_own = false;  // something left to this thread
  while (in_order != nullptr) {
    // The edge is the successor's, which may run and be gone once it is counted down.
    Operation& successor = *in_order->successor;
    in_order = in_order->next;
    if (successor.pending.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
    // The oldest of all is what this thread would find next, and no other could do anything better with it.
    if (next == 0 && ready_queue_ == nullptr && successor.number == oldest_.load(std::memory_order_relaxed)) {
      next = successor.number;
      profile::ready(next);
      // Relaxed: nobody else comes to the record before this thread makes it ready or open.
      successor.word.store(Progress{static_cast<std::uint32_t>(next), 0, Progress::claimed}.word(),
                           std::memory_order_relaxed);
      continue;
    }
    // Short work is left to this thread, or to whom it passes it on.
    const bool is_tiny = successor.is_tiny;
    make_ready(successor);
    const bool is_left = is_tiny && crew_.leave_to_computing_thread();
    has_own = has_own || is_left;
    if (!is_left) ++ready;
  }
  return has_own || next != 0 || ready == 0 ? ready : ready - 1;
}

void Engine::make_ready(Operation& operation) {
  const std::uint64_t number = operation.number;
  profile::ready(number);
  operation.word.store(Progress{static_cast<std::uint32_t>(number), 0, Progress::ready}.word(),
                       std::memory_order_seq_cst);
  if (ready_queue_ != nullptr) {
    ready_queue_->push(number);
  } else {
    ready_->insert(slot(number));
  }
}

// True if f made a step by this thread.
bool Engine::advance_oldest() {
  for (bool advanced = false;;) {
    std::uint64_t oldest = oldest_.load(std::memory_order_seq_cst);
    if (at(oldest).finished.load(std::memory_order_seq_cst) != oldest) return advanced;
    if (!oldest_.compare_exchange_strong(oldest, oldest + 1, std::memory_order_seq_cst)) continue;
    advanced = true;
    device_state(Device()).admission->arrive(oldest + 1);
  }
}

void Engine::retry_refused() {
  if (refused_.load(std::memory_order_seq_cst) && refused_.exchange(false, std::memory_order_seq_cst)) crew_.notify(1);
}

Failure* Engine::fail(const Invocation& invocation, std::uint64_t number) {
  return failures_.add(number, current_failure_message(invocation));
}

}  // namespace asyncgrad::detail
