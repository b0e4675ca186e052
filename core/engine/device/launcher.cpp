#include "asyncgrad/core/engine/device/launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <thread>
#include <utility>

#include "asyncgrad/core/engine/engine.h"
#include "asyncgrad/core/engine/run/execution.h"
#include "asyncgrad/core/profile/profile.h"

namespace asyncgrad::detail {

namespace {

constexpr int most_refusals = 4;     // of one search, as in a pool
constexpr int most_unrecorded = 16;  // operations that complete together
constexpr int pauses_between_looks = 32;

// Calls it on a thread of its own, and waits for it.
template <class Function>
void on_own_thread(Function function) {
  std::async(std::launch::async, function).get();
}

}  // namespace

Launcher::Launcher(Engine& engine, Waiters& waiters, DeviceState& device)
    : Stream(engine, waiters, device), times_(device.device) {
  failure_ = device_.failure.load(std::memory_order_acquire);
  if (failure_ == nullptr) on_own_thread([this] { make_queues(); });
  device_.allocator.set_before_trim([this] { drain(); });
}

Launcher::~Launcher() {
  device_.allocator.set_before_trim(nullptr);
  for (Queue& queue : queues_) give_back_scratch(queue);
  on_own_thread([this] {
    for (Queue& queue : queues_) queue.queue.reset();
    events_.clear();  // which the queues may have been about to reach
    times_.clear();
  });
}

// All of them or none.
void Launcher::make_queues() {
  std::array<std::unique_ptr<DeviceQueue>, queue_count> made;
  for (std::size_t i = 0; i < made.size(); ++i) {
    made[i] = device_.backend->make_queue(device_.device, static_cast<int>(i));
  }
  for (std::size_t i = 0; i < made.size(); ++i) queues_[i].queue = std::move(made[i]);
}

bool Launcher::run_one(Turn&) {
  // Asked before it looks for operations: of a call that was left it finds all that are ready.
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
  if (engine_.is_exiting()) return false;
  if (ready_queue_ != nullptr) {
    for (std::size_t tries = ready_queue_->size(); tries > 0; --tries) {
      const std::uint64_t number = ready_queue_->pop(UINT64_MAX);
      if (number == 0) return false;
      if (try_issue(number) == Outcome::ran) return true;
    }
    return false;
  }
  const std::uint64_t first = engine_.ring().oldest().load(std::memory_order_seq_cst);
  int refusals = 0;
  for (std::size_t skip = 0;;) {
    const std::int64_t behind = ready_->nearest(engine_.ring().slot(first), skip);
    if (behind < 0) return false;
    const Outcome outcome = try_issue(first + static_cast<std::uint64_t>(behind));
    if (outcome == Outcome::ran) return true;
    // What another device has no room for says nothing of this one's.
    const bool is_own = outcome == Outcome::refused && place_of(first + static_cast<std::uint64_t>(behind)) == &device_;
    if (is_own && ++refusals == most_refusals) return false;
    skip = static_cast<std::size_t>(behind) + 1;
  }
}

Stream::Outcome Launcher::try_issue(std::uint64_t number) {
  Operation& operation = engine_.ring().at(number);
  // Acquire: the record is seen as it was when it became ready. This thread alone claims those of its stream.
  const Progress progress = Progress::of(operation.word.load(std::memory_order_acquire));
  if (!progress.is_of(number) || !progress.is_ready()) return Outcome::gone;
  const bool is_member = ready_queue_ == nullptr;
  Failure* cause = failure_;
  if (cause == nullptr && has_poison(operation.invocation)) cause = first_cause(operation.invocation);
  // What was in flight on another device when that failed counts as computed. Acquire: it failed before this was ready.
  for (const Operand& operand : operation.invocation.all_operands()) {
    if (cause == nullptr) cause = state_of(*operand.storage).failure.load(std::memory_order_acquire);
  }
  Failure* own = nullptr;
  if (cause == nullptr) {
    const std::int64_t held = bytes_held(operation.place);
    if (!admit(operation, held)) {
      profile::refused(number);
      if (!admit_at_last(operation, held)) {
        make_ready_again(operation);
        return Outcome::refused;
      }
    }
    try {
      if (!take_or_park(operation, is_in_flight())) return Outcome::refused;
    } catch (const DeviceFailed& error) {
      give_up(error.what(), number);
      cause = failure_;
    } catch (...) {
      own = engine_.fail(operation.invocation, number);
    }
  }
  if (is_member) ready_->erase(engine_.ring().slot(number));
  issue(operation, own != nullptr ? own : cause);
  if (own != nullptr) engine_.failures().let_go(*own);
  return Outcome::ran;
}

// `cause`: why it is skipped; null: it is not. A skipped one has its place in its queue, too: what comes after it
// relies on all that it waited for.
void Launcher::issue(Operation& operation, Failure* cause) {
  Queue& queue = queues_[operation.queue];
  // A thread that comes late, to a member that was left over, must not find it ready, see Operation::stream. Relaxed:
  // the slot's next owner comes after, and nobody else asks.
  operation.word.store(Progress::word_of(operation.number, Progress::claimed), std::memory_order_relaxed);
  // A profile shows when each operation came to the device.
  std::shared_ptr<LaunchRegion> region = std::exchange(operation.region, nullptr);
  if (profile::is_on()) region = nullptr;
  InFlight issued{.number = operation.number};
  Failure* own = nullptr;
  if (failure_ == nullptr) {
    try {
      if (operation.queue == compute_queue) enter(std::move(region));
      times_.follow_profiler(*queues_[compute_queue].queue);
      wait_for_others(operation);
      if (cause == nullptr) launch(operation, issued.times);
    } catch (const DeviceFailed& error) {
      give_up(error.what(), operation.number);
      cause = failure_;
    } catch (...) {
      own = engine_.fail(operation.invocation, operation.number);
      cause = own;
    }
  }
  settle(operation.invocation, cause, false, engine_.failures());
  operation.ticket = queue.first_ticket + queue.in_flight.size();
  issued.has_failed = cause != nullptr;
  queue.in_flight.push_back(issued);
  if (own != nullptr) engine_.failures().let_go(*own);
  if (operation.queue == compute_queue) release_operands(operation.invocation);
  for (Place* place : {&operation.place, &operation.source}) {
    if (place->device != &device_) continue;
    device_.order->finish(place->number, *device_.admission);
    place->device = nullptr;  // done with here; the other one is when the operation is complete
  }
  Turn none;
  engine_.release_successors(*this, operation.successors_on_issue, none);
  engine_.retry_refused();
  ++queue.unrecorded;
  if (failure_ != nullptr) return give_up("", operation.number);  // it is over as it begins
  try {
    if (queue.unrecorded >= most_unrecorded && !may_keep(queue)) record(queue);
  } catch (const DeviceFailed& error) {
    give_up(error.what(), operation.number);
  }
}

// Of what comes now. What came before must not wait for its end: it gets its event, and what was kept back goes.
void Launcher::enter(std::shared_ptr<LaunchRegion> region) {
  if (region == region_) return;
  Queue& queue = queues_[compute_queue];
  record(queue);
  queue.queue->set_graph(region == nullptr ? nullptr : region->graph);
  region_ = std::move(region);
}

// Somebody waits, maybe for what is in flight, and nothing of that has an event.
bool Launcher::is_awaited(const Queue& queue) const {
  const bool is_alone = static_cast<std::size_t>(queue.unrecorded) == queue.in_flight.size();
  return is_alone && (engine_.is_awaited() || engine_.is_exiting());
}

void Launcher::launch(Operation& operation, DeviceTimes::Span& times) {
  Queue& queue = queues_[operation.queue];
  const Invocation& invocation = operation.invocation;
  wait_for_memory(operation);
  prepare(invocation);
  KernelCall call = invocation.call();
  call.scratch = queue.scratch;
  const profile::TileSpan span(operation.number, 0);
  const InOperation here;
  times = times_.begin(*queue.queue);
  queue.queue->issue(op_name(invocation.op, invocation.attributes), *invocation.kernel, call);
  times_.end(*queue.queue, times);
}

// What copies keep, or will keep, of what the device's serial levels do not tell of. They keep their operands until
// they are complete, while f passes them when they are issued. Before f that is what copies under way have that nobody
// holds a handle of: those with one are part of the serial levels. What starts early must fit beside all that f may
// find so on its way to it: at most the operands of all copies that are queued.
std::int64_t Launcher::bytes_held(const Place& place) const {
  if (place.device != &device_) return 0;
  if (device_.oldest->load(std::memory_order_seq_cst) < place.number) {
    return device_.copied_bytes.load(std::memory_order_relaxed);  // it was raised before the operation was ready
  }
  std::int64_t bytes = 0;
  for (const int copies : {copy_in_queue, copy_out_queue}) {
    for (const InFlight& copy : queues_[static_cast<std::size_t>(copies)].in_flight) {
      for (const Operand& operand : engine_.ring().at(copy.number).invocation.all_operands()) {
        const Storage& storage = *operand.storage;
        // A handle that goes just now was there when what is asked about was queued.
        if (storage.device == &device_ && !has_handle(storage)) bytes += storage.size_bytes;
      }
    }
  }
  return bytes;
}

// Of the operations that it may follow once they are issued, those on another queue. This thread alone completes them.
void Launcher::wait_for_others(Operation& operation) {
  for (const FurtherEdge* edge = operation.more_edges; edge != nullptr; edge = edge->next_owned) {
    if (edge->issued_after == 0 || engine_.ring().finished(edge->issued_after)) continue;
    const Operation& other = engine_.ring().at(edge->issued_after);
    if (other.queue == operation.queue) continue;
    queues_[operation.queue].queue->wait_for(event_after(queues_[other.queue], other.ticket));
  }
}

// The block that a copy has taken here may be one that operations issued before still use: they return theirs as they
// are issued.
void Launcher::wait_for_memory(const Operation& operation) {
  Queue& computing = queues_[compute_queue];
  if (operation.queue != copy_in_queue || computing.in_flight.empty()) return;
  if (operation.invocation.operands[0].storage->taken_by != operation.place.number) return;  // it was there
  const std::uint64_t last = computing.first_ticket + computing.in_flight.size() - 1;
  queues_[operation.queue].queue->wait_for_memory(event_after(computing, last));
}

const DeviceEvent& Launcher::event_after(Queue& queue, std::uint64_t ticket) {
  for (std::size_t i = ticket - queue.first_ticket; i < queue.in_flight.size(); ++i) {
    if (queue.in_flight[i].event != nullptr) return *queue.in_flight[i].event;
  }
  record(queue);
  return *queue.in_flight.back().event;
}

void Launcher::record(Queue& queue) {
  if (queue.unrecorded == 0 || failure_ != nullptr) return;
  if (free_events_.empty()) {
    events_.push_back(queue.queue->make_event());
    free_events_.push_back(events_.back().get());
  }
  DeviceEvent* const event = free_events_.back();
  queue.queue->record(*event);
  free_events_.pop_back();
  queue.in_flight.back().event = event;
  queue.unrecorded = 0;
}

bool Launcher::complete_some() {
  bool has_completed = false;
  for (Queue& queue : queues_) {
    const auto recorded = std::ranges::find_if(queue.in_flight, [](const InFlight& i) { return i.event != nullptr; });
    if (recorded == queue.in_flight.end() || !queue.queue->is_complete(*recorded->event)) continue;
    // Complete, it holds nobody back any more who waits for it, and may be recorded anew.
    free_events_.push_back(recorded->event);
    for (auto count = recorded - queue.in_flight.begin() + 1; count > 0; --count) complete_first(queue);
    has_completed = true;
  }
  return has_completed;
}

void Launcher::complete_first(Queue& queue) {
  const InFlight first = queue.in_flight.front();
  Operation& operation = engine_.ring().at(first.number);
  if (failure_ == nullptr) times_.complete(first.times, first.number, operation.queue);
  queue.in_flight.pop_front();
  ++queue.first_ticket;
  if (&queue != &queues_[compute_queue]) {
    for (const Operand& operand : operation.invocation.all_operands()) {
      if (operand.storage->device != &device_) continue;
      device_.copied_bytes.fetch_sub(operand.storage->size_bytes, std::memory_order_relaxed);
    }
    release_operands(operation.invocation);
  }
  Turn none;
  engine_.finish(*this, operation, first.has_failed, none);
}

// Nothing that is in flight, nor anything that comes, gets a value. `number`: of the operation at hand, if there is
// one.
void Launcher::give_up(const std::string& message, std::uint64_t number) {
  if (failure_ == nullptr) {
    std::uint64_t oldest = number;
    for (const Queue& queue : queues_) {
      for (const InFlight& operation : queue.in_flight) oldest = std::min(oldest, operation.number);
    }
    failure_ = engine_.failures().add(
        oldest, fmt::format("[{}] the device has failed and does nothing more until the process starts anew: {}{}",
                            device_.device.str(), message, graph_under_way()));
    // Release: a thread that finds it finds the message.
    device_.failure.store(failure_, std::memory_order_release);
  }
  for (Queue& queue : queues_) {
    const bool has_operands = &queue != &queues_[compute_queue];
    while (!queue.in_flight.empty()) {
      const Operation& operation = engine_.ring().at(queue.in_flight.front().number);
      if (has_operands) settle(operation.invocation, failure_, true, engine_.failures());
      complete_first(queue);
    }
    queue.unrecorded = 0;
  }
}

// For messages: that of the operations in flight.
std::string Launcher::graph_under_way() const {
  for (const InFlight& operation : queues_[compute_queue].in_flight) {
    const Origin& origin = engine_.ring().at(operation.number).origin;
    if (origin.graph != 0) return fmt::format(", in graph {}", origin.graph_name());
  }
  return "";
}

void Launcher::drain() {
  for (Queue& queue : queues_) {
    record(queue);
    if (queue.in_flight.empty() || failure_ != nullptr) continue;
    while (!queue.queue->is_complete(*queue.in_flight.back().event)) std::this_thread::yield();
  }
}

// Scratch and then results, which may have what is kept of the one beyond the operation's own need.
void Launcher::take(const Operation& operation) {
  Queue& queue = queues_[operation.queue];
  const std::int64_t size_bytes = rounded_bytes(scratch_bytes(operation.invocation));
  try {
    take_scratch(queue, size_bytes);
    Stream::take(operation);
  } catch (const std::bad_alloc&) {
    if (queue.scratch_bytes <= size_bytes) throw;
    give_back_scratch(queue);
    take(operation);
  }
}

void Launcher::take_scratch(Queue& queue, std::int64_t size_bytes) {
  if (size_bytes <= queue.scratch_bytes) return;
  give_back_scratch(queue);
  queue.scratch = device_.allocator.take_workspace(size_bytes);
  queue.scratch_bytes = size_bytes;
  device_.workspace.fetch_add(size_bytes, std::memory_order_relaxed);
}

// What the queue of operations returns is free in its order, as its operands are.
void Launcher::give_back_scratch(Queue& queue) {
  if (queue.scratch == nullptr) return;
  if (&queue != &queues_[compute_queue]) drain();
  device_.allocator.give_back_workspace(queue.scratch, queue.scratch_bytes);
  device_.workspace.fetch_sub(queue.scratch_bytes, std::memory_order_relaxed);
  queue.scratch = nullptr;
  queue.scratch_bytes = 0;
}

const DeviceState* Launcher::place_of(std::uint64_t number) const { return engine_.ring().at(number).place.device; }

bool Launcher::is_in_flight() const {
  return std::ranges::any_of(queues_, [](const Queue& queue) { return !queue.in_flight.empty(); });
}

}  // namespace asyncgrad::detail
