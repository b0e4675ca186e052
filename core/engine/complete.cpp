// The end of an operation: what whoever ran it tells the engine.
#include <algorithm>

#include "asyncgrad/core/engine/engine.h"
#include "asyncgrad/core/engine/execution.h"
#include "asyncgrad/core/engine/profile.h"

namespace asyncgrad::detail {

void Engine::complete(Stream& stream, Operation& operation, Failure* failure, bool started, std::uint64_t& next) {
  settle(operation.invocation, failure, started, failures_);
  release_operands(operation.invocation);
  finish(stream, operation, failure != nullptr, next);
}

void Engine::finish(Stream& stream, Operation& operation, bool has_failed, std::uint64_t& next) {
  const std::uint64_t number = operation.number;
  profile::ended(number, has_failed);
  publish(operation);
  const int ready = release_successors(stream, operation.successors, next);
  operation.retired.store(number, std::memory_order_release);  // from here on the record may be another operation's
  if (ready > 0) stream.crew().notify(ready);
  retry_refused();
  waiters_.wake();
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

int Engine::release_successors(Stream& stream, std::atomic<Edge*>& successors, std::uint64_t& next) {
  // Acquire: the edges as the front end wrote them; release: nothing here moves behind it.
  Edge* edge = successors.exchange(closed_list(), std::memory_order_acq_rel);
  Edge* in_order = nullptr;  // the list has the youngest first
  while (edge != nullptr) in_order = std::exchange(edge, std::exchange(edge->next, in_order));
  int ready = 0;
  bool has_own = false;  // something left to this thread
  while (in_order != nullptr) {
    // The edge is the successor's, which may run and be gone once it is counted down.
    Operation& successor = *in_order->successor;
    in_order = in_order->next;
    if (successor.pending.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
    Stream& home = *successor.stream;
    const bool is_own = &home == &stream;
    // The oldest of all is what this thread would find next, and no other could do anything better with it.
    if (is_own && next == 0 && stream.passes_on() && is_oldest(successor)) {
      next = successor.number;
      profile::ready(next);
      // Relaxed: nobody else comes to the record before this thread makes it ready or open.
      successor.word.store(Progress::word_of(next, Progress::claimed), std::memory_order_relaxed);
      continue;
    }
    // Short work is left to a thread that computes: this one, or whom it passes it on to.
    const bool is_tiny = successor.is_tiny;
    home.make_ready(successor);
    const bool is_left = is_tiny && home.crew().leave_to_computing_thread();
    if (!is_own) {
      if (!is_left) home.crew().notify(1);
      continue;
    }
    has_own = has_own || is_left;
    if (!is_left) ++ready;
  }
  return has_own || next != 0 || ready == 0 ? ready : ready - 1;
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
