#include "asyncgrad/core/engine/schedule/executor.h"

#include <bit>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "asyncgrad/core/engine/run/execution.h"
#include "asyncgrad/core/engine/schedule/executors.h"
#include "asyncgrad/core/profile/profile.h"

namespace asyncgrad::detail {

namespace {

std::unique_ptr<Ready> make_ready_operations(const Ring& ring, bool by_arrival) {
  if (by_arrival) return std::make_unique<ReadyByArrival>(ring);
  return std::make_unique<ReadyInOrder>(ring);
}

// Closes the list, and returns the successors, the oldest first.
Edge* take_in_order(std::atomic<Edge*>& successors) {
  // Acquire: the edges are seen as the front end wrote them. Release: nothing before the exchange moves behind it.
  Edge* edge = successors.exchange(closed_list(), std::memory_order_acq_rel);
  Edge* in_order = nullptr;
  while (edge != nullptr) in_order = std::exchange(edge, std::exchange(edge->next, in_order));
  return in_order;
}

// Returns true if the operation waits for no other one.
bool drop_predecessor(Operation& operation) {
  // If one predecessor is left, no other thread decrements: a plain load is enough. Acquire-release: the last thread
  // sees what all others published.
  return operation.pending.load(std::memory_order_acquire) == 1 ||
         operation.pending.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

void set_ready(Operation& operation) {
  // Release: a thread that claims the operation sees its whole entry.
  operation.word.store(Progress::word_of(operation.number, Progress::ready), std::memory_order_release);
}

// A test's hook counts as long work, so that other threads do not rely on this one.
class LongWork {
 public:
  explicit LongWork(Workers& workers) : workers_(workers) { workers_.begin_long(); }
  LongWork(const LongWork&) = delete;
  LongWork& operator=(const LongWork&) = delete;
  ~LongWork() { workers_.end_long(); }

 private:
  Workers& workers_;
};

}  // namespace

Executor::Executor(const ExecutorContext& context, DeviceState& device, bool by_arrival)
    : context_(context),
      device_(device),
      is_in_order_(!by_arrival),
      ready_(make_ready_operations(context.ring, by_arrival)),
      workers_(*this, context.ring, context.waiters) {}

void Executor::make_ready(Operation& operation) {
  profile::ready(operation.number);
  set_ready(operation);
  ready_->add(operation.number);
}

void Executor::make_ready(std::uint64_t first, std::uint64_t operations) {
  for (std::uint64_t rest = operations; rest != 0; rest &= rest - 1) {
    const std::uint64_t number = first + static_cast<std::uint64_t>(std::countr_zero(rest));
    profile::ready(number);
    set_ready(context_.ring.at(number));
  }
  ready_->add_all(first, operations);
}

void Executor::put_back(Turn& turn) {
  ready_->add(std::exchange(turn.next, 0));
  workers_.notify(1);
}

// The next ready operation is usually the oldest of all.
void Executor::prefetch() const {
  const std::uint64_t first = context_.ring.oldest().load(std::memory_order_relaxed);
  ready_->prefetch(first);
  prefetch_for_reading(context_.ring.at(first));
}

bool Executor::admit(const Operation& operation, std::int64_t held) {
  const Place& place = operation.place;
  const std::int64_t bytes = bytes_to_take(operation.invocation);
  const Awaited& awaited = context_.ring.awaited();
  const auto ask = [&] {
    const bool is_awaited = awaited.any() && awaited.has(context_.ring.slot(operation.number));
    return place.device->admission().admit(place.number, bytes, place.device->order->oldest(), held, is_awaited);
  };
  if (ask()) return true;
  profile::refused(operation.number);
  if (place.device == &device_ && !is_asynchronous()) {
    refusals_.note(place.number, bytes);
  } else {
    refusals_.note_any();
  }
  context_.executors.note_refused();
  return ask();
}

bool Executor::retry_refused() {
  const auto fits = [this](std::uint64_t place, std::int64_t bytes) {
    return context_.ring.awaited().any() || device_.admission().may_fit(place, bytes, device_.order->oldest());
  };
  if (refusals_.take(fits)) workers_.notify(1);
  return refusals_.is_marked();
}

void Executor::take(const Operation& operation) { take_memory(operation.invocation, operation.place.number); }

// The loop below ends: other threads finish what they compute, and lack the same memory for what they begin; operations
// in flight complete; then the oldest operation runs or fails.
bool Executor::take_or_park(Operation& operation, bool can_return) {
  if (const RunState::Hook hook = context_.run_state.hook()) {
    const LongWork scope(workers_);
    const InOperation here;
    hook(operation.number);
  }
  const Place& place = operation.place;
  for (bool is_alone = false;;) {
    try {
      take(operation);
      return true;
    } catch (const std::bad_alloc&) {
      if (is_alone) throw;
      if (!device_.is_asynchronous) context_.executors.trim_other_parts(*place.device);
    }
    if (can_return || context_.ring.oldest().load(std::memory_order_seq_cst) != operation.number) break;
    is_alone = !context_.executors.others_compute(*this);
    if (!is_alone) std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  place.device->admission().give_back(place.number, bytes_to_take(operation.invocation));
  refusals_.note_any();  // a thread that ends an operation looks for it
  context_.executors.note_refused();
  make_ready_again(operation, context_.ring.oldest(), operation.number);
  return false;
}

void Executor::make_ready_again(Operation& operation) {
  const Place place = operation.place;
  make_ready_again(operation, place.device->order->oldest(), place.number);
}

// The operation is tried again when `oldest`, f of an order, reaches its `place` there, or when the end of another
// operation makes room. Either may have happened while this thread had the claim: then the mark of the refusal was
// cleared, and the thread that was called found nothing to begin. So this looks at both once more after the operation
// can be found.
void Executor::make_ready_again(Operation& operation, const std::atomic<std::uint64_t>& oldest, std::uint64_t place) {
  const std::uint64_t number = operation.number;
  operation.word.store(Progress::word_of(number, Progress::ready), std::memory_order_seq_cst);
  ready_->add(number);
  const bool has_arrived = oldest.load(std::memory_order_seq_cst) == place;
  if (has_arrived || !refusals_.is_marked()) workers_.notify(1);
}

void Executor::complete(Operation& operation, Failure* failure, bool started, Turn& turn) {
  settle(operation.invocation, failure, started, context_.failures);
  release_operands(operation.invocation);
  finish(operation, failure != nullptr, turn);
}

void Executor::finish(Operation& operation, bool has_failed, Turn& turn) {
  const std::uint64_t number = operation.number;
  // Destroyed last: the program's destructor may run arbitrary code. It may queue, so whoever stops this thread must not
  // hold the front end's lock yet: this is a visit until then.
  std::optional<Executors::Visit> visit;
  std::shared_ptr<const void> owned;
  if (runs_function(operation.invocation.op) && operation.owned != nullptr) {
    visit.emplace(context_.executors);
    owned = std::move(operation.owned);
  }
  profile::ended(number, has_failed);
  bool is_finished = false;  // in the order of the program
  for (const Place* place : {&operation.place, &operation.source}) {
    if (place->device == nullptr) continue;
    place->device->finish(place->number);
    is_finished |= place->device->order->is_of_program();
  }
  if (!is_finished) context_.ring.order().finish(number, [](std::uint64_t) {});
  const int ready = release(operation.successors, turn);
  operation.retired.store(number, std::memory_order_release);  // from here on the entry may be another operation's
  if (ready > 0) workers_.notify(ready);
  context_.executors.retry_refused();
  context_.waiters.wake(number, context_.ring.oldest().load(std::memory_order_seq_cst));
}

int Executor::release(std::atomic<Edge*>& successors, Turn& turn) {
  int ready = 0;
  bool has_left = false;  // a tiny operation is left to this thread, or to another one that computes
  for (Edge* edge = take_in_order(successors); edge != nullptr;) {
    // Read first: the edge belongs to the successor, which may run and end as soon as its count is decremented.
    Operation& successor = *edge->successor;
    edge = edge->next;
    if (!drop_predecessor(successor)) continue;
    Executor& home = executor_of(successor);
    const bool is_own = &home == this;
    // The oldest operation is this thread's next one. It is not offered to others, which could not run it sooner.
    if (is_own && is_in_order_ && !is_asynchronous() && turn.next == 0 && is_oldest_of_device(successor)) {
      profile::ready(successor.number);
      turn.next = successor.number;
      set_ready(successor);
      continue;
    }
    const bool is_tiny = successor.weight == Weight::tiny;  // read before the operation may run and end
    home.make_ready(successor);
    const bool is_left = is_tiny && home.workers().leave_to_computing_thread();
    if (!is_own && !is_left) home.workers().notify(1);
    if (is_own && is_left) has_left = true;
    if (is_own && !is_left) ++ready;
  }
  // A thread that goes on does so with one of them.
  return has_left || turn.next != 0 || ready == 0 || !turn.goes_on ? ready : ready - 1;
}

bool Executor::is_oldest_of_device(const Operation& operation) {
  const Place& place = operation.place;
  return place.number == place.device->order->oldest().load(std::memory_order_relaxed);
}

Failure* Executor::fail(const Operation& operation) {
  return add_current_failure(operation.invocation, operation.number, context_.failures);
}

}  // namespace asyncgrad::detail
