#include "asyncgrad/core/engine/device/launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <thread>
#include <utility>

#include "asyncgrad/core/engine/run/execution.h"
#include "asyncgrad/core/engine/schedule/executors.h"
#include "asyncgrad/core/profile/profile.h"

namespace asyncgrad::detail {

namespace {

constexpr int most_unrecorded = 16;  // operations that complete together
constexpr int pauses_between_looks = 32;

// Calls it on a thread of its own, and waits for it.
template <class Function>
void on_own_thread(Function function) {
  std::async(std::launch::async, function).get();
}

}  // namespace

Launcher::Launcher(const ExecutorContext& context, DeviceState& device, bool by_arrival)
    : Executor(context, device, by_arrival), times_(device.device) {
  failure_ = device_.failure.load(std::memory_order_acquire);
  if (failure_ == nullptr) on_own_thread([this] { make_queues(); });
  device_.allocator.set_before_trim([this] { drain(); });
}

Launcher::~Launcher() {
  workers().stop();  // before what its thread uses is gone
  device_.allocator.set_before_trim(nullptr);
  for (Queue& queue : queues_) give_back_scratch(queue);
  on_own_thread([this] {
    for (Queue& queue : queues_) queue.set_queue(nullptr);
    events_.clear();  // which the queues may have been about to reach
    times_.clear();
  });
}

// Makes all of them or none.
void Launcher::make_queues() {
  std::array<std::unique_ptr<DeviceQueue>, queue_count> made;
  for (std::size_t i = 0; i < made.size(); ++i) {
    made[i] = device_.backend->make_queue(device_.device, static_cast<int>(i));
  }
  for (std::size_t i = 0; i < made.size(); ++i) queues_[i].set_queue(std::move(made[i]));
}

// --- Issuing. ---

bool Launcher::run_one(Turn&) {
  // Asked before it looks for operations: it then finds all that are ready of a call that was left.
  const bool was_left = region_ != nullptr && !region_->is_open.load(std::memory_order_acquire);
  const bool has_issued = issue_one();
  if (has_issued && ++issued_ < most_unrecorded) return true;
  try {
    issued_ = 0;
    if (was_left && !has_issued) enter(nullptr);
    for (Queue& queue : queues_) {
      if (!may_keep(queue) || (!has_issued && is_awaited(queue))) record(queue);
    }
    if (complete_some() || has_issued) return true;
  } catch (const DeviceFailed& error) {
    give_up(error.what(), UINT64_MAX);
    return true;
  }
  if (!is_in_flight()) return false;
  for (int i = 0; i < pauses_between_looks; ++i) pause_briefly();
  std::this_thread::yield();  // the device may be threads of this machine
  return true;
}

bool Launcher::issue_one() {
  if (context_.run_state.is_exiting()) return false;
  Ready::Search search{.first = context_.ring.oldest().load(std::memory_order_seq_cst)};
  while (const std::uint64_t number = ready_->next(search)) {
    const Outcome outcome = try_issue(number);
    if (outcome == Outcome::ran) return true;
    // A lack of room on another device says nothing about this one.
    const bool is_own = outcome == Outcome::refused && context_.ring.at(number).place.device == &device_;
    if (is_own && !ready_->goes_on_after_refusal(search)) return false;
  }
  return false;
}

Executor::Outcome Launcher::try_issue(std::uint64_t number) {
  Operation& operation = context_.ring.at(number);
  // Acquire: the record is seen as it was when it became ready. This thread alone claims those of its executor.
  const Progress progress = Progress::of(operation.word.load(std::memory_order_acquire));
  if (!progress.is_of(number) || !progress.is_ready()) return Outcome::gone;
  Failure* shared = nullptr;  // the cause, if this has a share of it; a device keeps its own for good
  Failure* cause = cause_of(operation, shared);
  if (cause == nullptr) {
    if (!admit(operation, bytes_held(operation.place))) {
      make_ready_again(operation);
      return Outcome::refused;
    }
    try {
      if (!take_or_park(operation, is_in_flight())) return Outcome::refused;
    } catch (const DeviceFailed& error) {
      give_up(error.what(), number);
      cause = failure_;
    } catch (...) {
      cause = shared = fail(operation);
    }
  }
  ready_->remove(number);
  issue(operation, cause);
  if (shared != nullptr) context_.failures.let_go(*shared);
  return Outcome::ran;
}

// Why it is skipped; null: it is not. `shared`: the same, if the caller has a share of it now.
Failure* Launcher::cause_of(const Operation& operation, Failure*& shared) const {
  if (failure_ != nullptr) return failure_;
  if (has_poison(operation.invocation)) {
    shared = first_cause(operation.invocation, context_.failures);
    if (shared != nullptr) return shared;
  }
  // What was in flight on another device when that failed counts as computed. Acquire: it failed before this was ready.
  for (const Operand& operand : operation.invocation.all_operands()) {
    if (Failure* const cause = state_of(*operand.storage).failure.load(std::memory_order_acquire)) return cause;
  }
  return nullptr;
}

// An operation that is skipped has its place in its queue, too: what comes after it relies on all that it waited for.
void Launcher::issue(Operation& operation, Failure* cause) {
  Queue& queue = queue_of(operation);
  // A thread that comes late, to a number that was left among those that are ready, must not find it ready. Relaxed:
  // the slot's next owner comes after, and nobody else asks.
  operation.word.store(Progress::word_of(operation.number, Progress::claimed), std::memory_order_relaxed);
  // A profile shows when each operation came to the device.
  std::shared_ptr<LaunchRegion> region = std::exchange(operation.region, nullptr);
  if (profile::is_on()) region = nullptr;
  IssuedQueue::Issued issued{.number = operation.number};
  Failure* own = nullptr;
  if (failure_ == nullptr) {
    try {
      if (operation.queue == compute_queue) enter(std::move(region));
      times_.follow_profiler(computing().device_queue());
      wait_for_others(operation);
      if (cause == nullptr) launch(operation, issued.times);
    } catch (const DeviceFailed& error) {
      give_up(error.what(), operation.number);
      cause = failure_;
    } catch (...) {
      own = fail(operation);
      cause = own;
    }
  }
  settle(operation.invocation, cause, false, context_.failures);
  operation.ticket = queue.next_ticket();
  issued.has_failed = cause != nullptr;
  queue.push(issued);
  if (own != nullptr) context_.failures.let_go(*own);
  leave_order(operation);
  if (failure_ != nullptr) return give_up("", operation.number);  // it is over as it begins
  try {
    if (queue.unrecorded() >= most_unrecorded && !may_keep(queue)) record(queue);
  } catch (const DeviceFailed& error) {
    give_up(error.what(), operation.number);
  }
}

// Tells those that waited for the operation to be issued.
void Launcher::leave_order(Operation& operation) {
  if (operation.queue == compute_queue) release_operands(operation.invocation);
  for (Place* place : {&operation.place, &operation.source}) {
    if (place->device != &device_) continue;
    device_.finish(place->number);
    place->device = nullptr;  // done with here; the other one is when the operation is complete
  }
  Turn none;
  release(operation.successors_on_issue, none);
  context_.executors.retry_refused();
}

// What comes now belongs to `region`. What came before must not wait for its end: it gets its event, and what was kept
// back goes.
void Launcher::enter(std::shared_ptr<LaunchRegion> region) {
  if (region == region_) return;
  Queue& queue = computing();
  record(queue);
  queue.device_queue().set_graph(region == nullptr ? nullptr : region->graph);
  region_ = std::move(region);
}

void Launcher::launch(Operation& operation, DeviceTimes::Span& times) {
  Queue& queue = queue_of(operation);
  const Invocation& invocation = operation.invocation;
  wait_for_memory(operation);
  prepare(invocation);
  KernelCall call = invocation.call();
  call.scratch = queue.scratch.block();
  const profile::TileSpan span(operation.number, 0);
  const InOperation here;
  times = times_.begin(queue.device_queue());
  queue.device_queue().issue(op_name(invocation.op, invocation.attributes), *invocation.kernel, call);
  times_.end(queue.device_queue(), times);
}

// Some of the operations that it may follow once they are issued are on another queue. This thread alone completes
// them.
void Launcher::wait_for_others(Operation& operation) {
  for (const FurtherEdge* edge = operation.more_edges; edge != nullptr; edge = edge->next_owned) {
    if (edge->issued_after == 0 || context_.ring.is_finished(edge->issued_after)) continue;
    const Operation& other = context_.ring.at(edge->issued_after);
    if (other.queue == operation.queue) continue;
    queue_of(operation).device_queue().wait_for(queue_of(other).event_after(other.ticket, events_));
  }
}

// The block that a copy has taken here may be one that operations issued before still use: they return theirs as they
// are issued.
void Launcher::wait_for_memory(const Operation& operation) {
  if (operation.queue != copy_in_queue || computing().is_empty()) return;
  if (operation.invocation.operands[0].storage->taken_by != operation.place.number) return;  // it was there
  queue_of(operation).device_queue().wait_for_memory(computing().event_after(computing().next_ticket() - 1, events_));
}

// Somebody waits, maybe for what is in flight, and nothing of that has an event.
bool Launcher::is_awaited(const Queue& queue) const {
  return queue.is_unrecorded() && (context_.executors.has_guests() || context_.run_state.is_exiting());
}

void Launcher::record(Queue& queue) {
  if (failure_ == nullptr) queue.record(events_);
}

// --- Completing. ---

bool Launcher::complete_some() {
  bool has_completed = false;
  for (Queue& queue : queues_) {
    for (std::size_t count = queue.count_complete(events_); count > 0; --count) {
      complete_first(queue);
      has_completed = true;
    }
  }
  return has_completed;
}

void Launcher::complete_first(Queue& queue) {
  const IssuedQueue::Issued first = queue.all().front();
  Operation& operation = context_.ring.at(first.number);
  // The device may fail here: the operation is still in flight then, and give_up() completes it.
  if (failure_ == nullptr) times_.complete(first.times, first.number, operation.queue);
  queue.pop();
  if (&queue != &computing()) {
    for (const Operand& operand : operation.invocation.all_operands()) {
      if (operand.storage->device != &device_) continue;
      device_.copied_bytes.fetch_sub(operand.storage->size_bytes, std::memory_order_relaxed);
    }
    release_operands(operation.invocation);
  }
  Turn none;
  finish(operation, first.has_failed, none);
}

// Nothing that is in flight, nor anything that comes, gets a value. `number`: the operation at hand, if there is one.
void Launcher::give_up(const std::string& message, std::uint64_t number) {
  if (failure_ == nullptr) {
    std::uint64_t oldest = number;
    for (const Queue& queue : queues_) {
      for (const IssuedQueue::Issued& operation : queue.all()) oldest = std::min(oldest, operation.number);
    }
    failure_ = context_.failures.add(
        oldest, fmt::format("[{}] the device has failed and does nothing more until the process starts anew: {}{}",
                            device_.device.str(), message, graph_under_way()));
    // Release: a thread that finds it finds the message.
    device_.failure.store(failure_, std::memory_order_release);
  }
  for (Queue& queue : queues_) {
    while (!queue.is_empty()) {
      const Operation& operation = context_.ring.at(queue.all().front().number);
      if (&queue != &computing()) settle(operation.invocation, failure_, true, context_.failures);  // it has operands
      complete_first(queue);
    }
    queue.forget_events();
  }
}

// The graph of the operations in flight, for messages.
std::string Launcher::graph_under_way() const {
  for (const IssuedQueue::Issued& operation : queues_[compute_queue].all()) {
    const Origin& origin = context_.ring.at(operation.number).origin;
    if (origin.graph != 0) return fmt::format(", in graph {}", origin.graph_name());
  }
  return "";
}

bool Launcher::is_in_flight() const {
  return std::ranges::any_of(queues_, [](const Queue& queue) { return !queue.is_empty(); });
}

void Launcher::drain() {
  for (Queue& queue : queues_) {
    record(queue);
    if (failure_ == nullptr) queue.wait();
  }
}

// --- Memory. ---

// Takes scratch and then results, which may have what is kept of the one beyond the operation's own need.
void Launcher::take(const Operation& operation) {
  Queue& queue = queue_of(operation);
  const std::int64_t size_bytes = rounded_bytes(scratch_bytes(operation.invocation));
  try {
    if (size_bytes > queue.scratch.size_bytes()) {
      give_back_scratch(queue);
      queue.scratch.take(device_, size_bytes);
    }
    Executor::take(operation);
  } catch (const std::bad_alloc&) {
    if (queue.scratch.size_bytes() <= size_bytes) throw;
    give_back_scratch(queue);
    take(operation);
  }
}

// Memory that the queue of operations returns is free in the queue's order, as its operands are.
void Launcher::give_back_scratch(Queue& queue) {
  if (queue.scratch.block() == nullptr) return;
  if (&queue != &computing()) drain();
  queue.scratch.give_back(device_);
}

// What copies keep, or will keep, that the device's serial levels do not tell of. They keep their operands until they
// are complete, while f passes them when they are issued. Before f that is what copies under way have that nobody holds
// a handle of: those with one are part of the serial levels. What starts early must fit beside all that f may find so
// on its way to it: at most the operands of all copies that are queued.
std::int64_t Launcher::bytes_held(const Place& place) const {
  if (place.device != &device_) return 0;
  if (device_.order->oldest().load(std::memory_order_seq_cst) < place.number) {
    return device_.copied_bytes.load(std::memory_order_relaxed);  // it was raised before the operation was ready
  }
  std::int64_t bytes = 0;
  for (const int copies : {copy_in_queue, copy_out_queue}) {
    for (const IssuedQueue::Issued& copy : queues_[static_cast<std::size_t>(copies)].all()) {
      for (const Operand& operand : context_.ring.at(copy.number).invocation.all_operands()) {
        const Storage& storage = *operand.storage;
        // A handle that goes just now was there when what is asked about was queued.
        if (storage.device == &device_ && !has_handle(storage)) bytes += storage.size_bytes;
      }
    }
  }
  return bytes;
}

}  // namespace asyncgrad::detail
