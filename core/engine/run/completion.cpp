// The end of an operation: what whoever ran it tells the engine.
#include <algorithm>

#include "asyncgrad/core/engine/engine.h"
#include "asyncgrad/core/engine/run/execution.h"
#include "asyncgrad/core/profile/profile.h"

namespace asyncgrad::detail {

void Engine::complete(Stream& stream, Operation& operation, Failure* failure, bool started, Turn& turn) {
  settle(operation.invocation, failure, started, failures_);
  release_operands(operation.invocation);
  finish(stream, operation, failure != nullptr, turn);
}

void Engine::finish(Stream& stream, Operation& operation, bool has_failed, Turn& turn) {
  const std::uint64_t number = operation.number;
  profile::ended(number, has_failed);
  publish(operation);
  const int ready = release_successors(stream, operation.successors, turn);
  operation.retired.store(number, std::memory_order_release);  // from here on the record may be another operation's
  if (ready > 0) stream.crew().notify(ready);
  retry_refused();
  waiters_.wake(number, ring_.oldest().load(std::memory_order_seq_cst));
}

// "Finished, then f", see Admission's invariant 3: a store and a load that must not change places, nor the looks for
// refused and sleeping threads that follow.
void Engine::publish(Operation& operation) {
  const std::uint64_t number = operation.number;
  if (has_orders_) {
    operation.finished.store(number, std::memory_order_seq_cst);
    for (const Place* place : {&operation.place, &operation.source}) {
      if (place->device != nullptr) place->device->order->finish(place->number, *place->device->admission);
    }
    ring_.advance([](std::uint64_t) {});
    return;
  }
  const auto arrived = [&admission = *operation.place.device->admission](std::uint64_t f) { admission.arrive(f); };
  // The oldest operation has f's own step for a full barrier, if no other thread makes it.
  if (ring_.oldest().load(std::memory_order_relaxed) == number) {
    operation.finished.store(number, std::memory_order_release);
    if (!ring_.advance(arrived)) operation.finished.exchange(number, std::memory_order_seq_cst);
  } else {
    operation.finished.store(number, std::memory_order_seq_cst);
    ring_.advance(arrived);
  }
}

int Engine::release_successors(Stream& stream, std::atomic<Edge*>& successors, Turn& turn) {
  // Acquire: the edges as the front end wrote them; release: nothing here moves behind it.
  Edge* edge = successors.exchange(closed_list(), std::memory_order_acq_rel);
  Edge* in_order = nullptr;  // the list has the youngest first
  while (edge != nullptr) in_order = std::exchange(edge, std::exchange(edge->next, in_order));
  int ready = 0;
  bool has_left = false;  // it has left something to itself
  while (in_order != nullptr) {
    // The edge is the successor's, which may run and be gone once it is counted down.
    Operation& successor = *in_order->successor;
    in_order = in_order->next;
    // The last one is alone: no need for the dearer instruction.
    if (successor.pending.load(std::memory_order_acquire) != 1 &&
        successor.pending.fetch_sub(1, std::memory_order_acq_rel) != 1) {
      continue;
    }
    Stream& home = stream_of(successor);
    const bool is_own = &home == &stream;
    const bool is_tiny = successor.is_tiny;
    if (is_own && stream.passes_on() && sets_aside(turn, successor)) {
      profile::ready(successor.number);
      // Release: it may be found by a member that was left over, see Stream::ready_.
      successor.word.store(Progress::word_of(successor.number, Progress::ready), std::memory_order_release);
      continue;
    }
    // Short work is left to a thread that computes: this one, or whom it passes it on to.
    home.make_ready(successor);
    const bool is_left = is_tiny && home.crew().leave_to_computing_thread();
    if (!is_own) {
      if (!is_left) home.crew().notify(1);
      continue;
    }
    has_left = has_left || is_left;
    if (!is_left) ++ready;
  }
  return has_left || turn.has_own() || ready == 0 ? ready : ready - 1;
}

// Whether it is something that the thread comes to next: the oldest of all, with which no other could do anything
// better, or what is soon done and follows on what it has set aside.
bool Engine::sets_aside(Turn& turn, const Operation& operation) const {
  if (!turn.has_own()) {
    if (!is_oldest(operation)) return false;
    turn.own = operation.number;
  } else if (operation.number != turn.own_end || !operation.is_tiny || turn.own_end - turn.own == most_own) {
    return false;
  }
  turn.own_end = operation.number + 1;
  return true;
}

bool Engine::is_oldest(const Operation& operation) const {
  if (!has_orders_) return operation.number == ring_.oldest().load(std::memory_order_relaxed);
  const Place& place = operation.place;
  return place.number == place.device->oldest->load(std::memory_order_relaxed);
}

// The streams' own marks were set before the common one.
void Engine::retry_all_refused() {
  if (!refused_.exchange(false, std::memory_order_seq_cst)) return;
  for (const auto& stream : streams()) stream->retry_refused();
}

bool Engine::others_compute(Stream& stream) {
  if (stream.crew().others_compute()) return true;
  return std::ranges::any_of(
      streams(), [&stream](const auto& other) { return other.get() != &stream && !other->crew().is_idle(); });
}

Failure* Engine::fail(const Invocation& invocation, std::uint64_t number) {
  return failures_.add(number, current_failure_message(invocation));
}

}  // namespace asyncgrad::detail
