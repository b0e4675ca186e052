#include "asyncgrad/core/engine/schedule/executor.h"

#include <bit>
#include <chrono>
#include <new>
#include <thread>

#include "asyncgrad/core/engine/engine.h"
#include "asyncgrad/core/engine/run/execution.h"
#include "asyncgrad/core/profile/profile.h"

namespace asyncgrad::detail {

namespace {

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

void Stream::make_ready_set(std::size_t slots, bool by_readiness) {
  ready_ = std::make_unique<ReadySet>(slots);
  ready_queue_ = by_readiness ? std::make_unique<ReadyQueue>(slots) : nullptr;
}

void Stream::make_ready(Operation& operation) {
  profile::ready(operation.number);
  offer(operation);
}

void Stream::make_ready(std::uint64_t first, std::uint64_t operations) {
  for (std::uint64_t rest = operations; rest != 0; rest &= rest - 1) {
    const std::uint64_t number = first + static_cast<std::uint64_t>(std::countr_zero(rest));
    if (ready_queue_ != nullptr) {
      make_ready(engine_.ring().at(number));
      continue;
    }
    profile::ready(number);
    engine_.ring().at(number).word.store(Progress::word_of(number, Progress::ready),
                                         std::memory_order_release);  // as in offer()
  }
  if (ready_queue_ == nullptr) ready_->insert_all(engine_.ring().slot(first), operations);
}

void Stream::offer(Operation& operation) {
  const std::uint64_t number = operation.number;
  const std::uint64_t word = Progress::word_of(number, Progress::ready);
  if (ready_queue_ != nullptr) {
    operation.word.store(word, std::memory_order_seq_cst);  // see make_ready_again
    return ready_queue_->push(number);
  }
  operation.word.store(word, std::memory_order_release);  // what is inserted then is found with it
  ready_->insert(engine_.ring().slot(number));
}

void Stream::note_refused() {
  refused_.store(true, std::memory_order_seq_cst);
  engine_.note_refused();
}

void Stream::put_back(Turn& turn) {
  const std::uint64_t count = turn.own_end - turn.own;
  ready_->insert_all(engine_.ring().slot(turn.own), ~std::uint64_t{0} >> (64 - count));
  turn.own = turn.own_end;
  crew_.notify(static_cast<int>(count));  // some may take long; those who were told of them before have not found them
}

// What is ready is mostly the oldest of all.
void Stream::prefetch() const {
  const std::uint64_t first = engine_.ring().oldest().load(std::memory_order_relaxed);
  ready_->prefetch(engine_.ring().slot(first));
  prefetch_for_reading(engine_.ring().at(first));
}

bool Stream::offer_held() { return engine_.try_to_offer_held(*this); }

bool Stream::reached(const Goal& goal) const { return engine_.reached(goal); }

bool Stream::admit(const Operation& operation, std::int64_t held) {
  const Place& place = operation.place;
  return place.device->admission->admit(place.number, bytes_to_take(operation.invocation), *place.device->oldest, held);
}

bool Stream::admit_at_last(const Operation& operation, std::int64_t held) {
  note_refused();
  return admit(operation, held);
}

void Stream::take(const Operation& operation) { take_memory(operation.invocation, operation.place.number); }

// All of it has an end: others that compute come to the end of what they do, and meet the same want with what they
// begin; what is in flight completes; and the oldest ends, one way or the other.
bool Stream::take_or_park(Operation& operation, bool can_return) {
  if (auto* hook = engine_.hook()) {
    crew_.begin_long();
    const OnExit end([this] { crew_.end_long(); });
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
      if (!device_.is_asynchronous) engine_.trim_other_parts(*place.device);
    }
    if (can_return || engine_.ring().oldest().load(std::memory_order_seq_cst) != operation.number) break;
    is_alone = !engine_.others_compute(*this);
    if (!is_alone) std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  place.device->admission->give_back(place.number, bytes_to_take(operation.invocation));
  note_refused();  // whoever ends an operation looks for it
  make_ready_again(operation, engine_.ring().oldest(), operation.number);
  return false;
}

// f's arrival in the meantime finds either this store or, in its own search, the claim; the store is followed by one
// more look at f.
void Stream::make_ready_again(Operation& operation, const std::atomic<std::uint64_t>& oldest, std::uint64_t place) {
  offer(operation);
  if (oldest.load(std::memory_order_seq_cst) == place) crew_.notify(1);
}

}  // namespace asyncgrad::detail
