#include "asyncgrad/core/engine/device/launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "asyncgrad/core/backend/operations.h"
#include "asyncgrad/core/engine/run/execution.h"
#include "asyncgrad/core/engine/schedule/executors.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/profile/profile.h"

namespace asyncgrad::detail {

namespace {

constexpr int max_unrecorded = 16;              // operations that complete together
constexpr std::int64_t long_bytes = 8LL << 20;  // of operands that take a device longer than an event takes this thread
constexpr int pauses_between_looks = 32;

// Calls the function on a thread of its own, waits for it, and throws what it throws; an Error names the line of the
// calling thread's call. std::async would bind the program to the thread-local storage of libstdc++, for which a process that
// loads the library late may have no room.
template <class Function>
void on_own_thread(Function function) {
  std::exception_ptr failure;
  std::thread([&] {
    try {
      function();
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure == nullptr) return;
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    if (error.parts().operation.empty()) throw;
    throw_error(error.parts().operation, error.parts().message, error.kind());
  }
}

// A device that has failed may still write there. Memory of the program may be pinned, too: that of a pinned tensor, which
// an array of another library shares.
void keep_pinned_results(const Invocation& invocation) {
  for (int i = 0; i < invocation.operand_count; ++i) {
    Storage& storage = *invocation.operands[i].storage;
    const bool may_be_pinned = storage.is_pinned || storage.is_foreign;
    if (may_be_pinned && invocation.views[i].access != Access::read) keep_for_good(storage);
  }
}

// Whether others should not have to wait for what is issued behind the operation.
bool is_long(const Invocation& invocation) {
  std::int64_t bytes = 0;
  for (const View& view : invocation.all_views()) bytes += value_bytes(view.shape, view.dtype);
  return bytes >= long_bytes;
}

}  // namespace

Launcher::Launcher(const ExecutorContext& context, DeviceState& device, bool by_arrival)
    : Executor(context, device, by_arrival), queues_(device.device), memory_(device_, queues_, context_.ring) {
  failure_ = device_.failure.load(std::memory_order_acquire);
  if (failure_ == nullptr) {
    on_own_thread([this] { queues_.make(*device_.backend); });
  } else {
    queues_.fail();
  }
  device_.allocator.set_before_trim([this] { queues_.drain(); });
}

Launcher::~Launcher() {
  workers().stop();  // before what its thread uses is gone
  device_.allocator.set_before_trim(nullptr);
  for (Queue& queue : queues_.all()) memory_.give_back_scratch(queue);
  on_own_thread([this] { queues_.destroy(); });
}

// --- Issuing. ---

bool Launcher::run_one(Turn&) {
  // Read before the search for operations, so that the search finds every ready operation of a call that was left.
  const bool was_left = queues_.was_call_left();
  const bool has_issued = issue_one();
  if (has_issued && ++issued_ < max_unrecorded) return true;
  try {
    issued_ = 0;
    if (was_left && !has_issued) queues_.enter(nullptr);
    for (Queue& queue : queues_.all()) {
      if (!queues_.may_keep_back(queue) || (!has_issued && is_awaited(queue))) queues_.record(queue);
    }
    if (complete_some() || has_issued) return true;
  } catch (const DeviceFailed& error) {
    give_up(error.what(), UINT64_MAX);
    return true;
  }
  if (!queues_.is_in_flight()) return false;
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
    // If another device lacks room, this one may still have some.
    const bool is_own = outcome == Outcome::refused && context_.ring.at(number).place.device == &device_;
    if (is_own && !ready_->goes_on_after_refusal(search)) return false;
  }
  return false;
}

Executor::Outcome Launcher::try_issue(std::uint64_t number) {
  Operation& operation = context_.ring.at(number);
  // Acquire: the entry is seen as it was when it became ready. This thread alone claims those of its executor.
  const Progress progress = Progress::of(operation.word.load(std::memory_order_acquire));
  if (!progress.is_of(number) || !progress.is_ready()) return Outcome::gone;
  Failure* shared = nullptr;  // the cause, if this has a share of it; a device keeps its own for good
  Failure* cause = cause_of(operation, shared);
  if (cause == nullptr) {
    if (!admit(operation, memory_.bytes_held(operation.place))) {
      make_ready_again(operation);
      return Outcome::refused;
    }
    try {
      if (!take_or_park(operation, queues_.is_in_flight())) return Outcome::refused;
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

// Returns why the operation is skipped; null: it is not. `shared` is the same failure if the caller now has a share of
// it.
Failure* Launcher::cause_of(const Operation& operation, Failure*& shared) const {
  if (failure_ != nullptr) return failure_;
  if (has_poison(operation.invocation)) {
    shared = first_cause(operation.invocation, context_.failures);
    if (shared != nullptr) return shared;
  }
  // Operations that were in flight on another device when it failed count as computed. Acquire: it failed before this
  // one became ready.
  for (const Operand& operand : operation.invocation.all_operands()) {
    if (Failure* const cause = state_of(*operand.storage).failure.load(std::memory_order_acquire)) return cause;
  }
  return nullptr;
}

// A skipped operation also takes its place in the queue, because later operations rely on everything that it waited
// for.
void Launcher::issue(Operation& operation, Failure* cause) {
  Queue& queue = queues_.of(operation);
  // The number may have stayed in the ready set. A late search that finds it there must not find the operation ready.
  // Relaxed: only this thread searches.
  operation.word.store(Progress::word_of(operation.number, Progress::claimed), std::memory_order_relaxed);
  // Not kept back for a graph: anything while a profile is recorded, which needs the times of each operation, and what
  // runs a function of the program, which may throw and must run once a call.
  std::shared_ptr<LaunchRegion> region = std::exchange(operation.region, nullptr);
  if (profile::is_on() || runs_function(operation.invocation.op)) region = nullptr;
  IssuedQueue::Issued issued{.number = operation.number};
  Failure* own = nullptr;
  if (failure_ == nullptr) {
    try {
      if (operation.queue == compute_queue) queues_.enter(std::move(region));
      queues_.follow_profiler();
      queues_.wait_for_others(operation, context_.ring);
      if (cause == nullptr) {
        issued.was_launched = true;
        launch(operation, issued.times);
      }
    } catch (const DeviceFailed& error) {
      give_up(error.what(), operation.number);
      cause = failure_;
    } catch (...) {
      own = fail(operation);
      cause = own;
    }
  }
  // A function of the program may have written before it threw.
  const bool started = own != nullptr && issued.was_launched && runs_function(operation.invocation.op);
  settle(operation.invocation, cause, started, context_.failures);
  operation.ticket = queue.next_ticket();
  issued.has_failed = cause != nullptr;
  queue.push(issued);
  if (own != nullptr) context_.failures.let_go(*own);
  leave_order(operation);
  if (failure_ != nullptr) return give_up("", operation.number);  // completes it at once
  try {
    const bool is_due = queue.unrecorded() >= max_unrecorded || is_long(operation.invocation);
    if (is_due && !queues_.may_keep_back(queue)) queues_.record(queue);
  } catch (const DeviceFailed& error) {
    give_up(error.what(), operation.number);
  }
}

// Releases the operations that waited for this one to be issued.
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

void Launcher::launch(Operation& operation, DeviceTimes::Span& times) {
  queues_.wait_for_memory(operation);
  prepare(operation.invocation);
  KernelCall call = operation.invocation.call();
  call.scratch = queues_.of(operation).scratch.block();
  const profile::TileSpan span(operation.number, 0);
  const InOperation here;
  queues_.issue(operation, call, times);
}

// Whether a thread waits, perhaps for an operation in flight, while no operation of the queue has an event.
bool Launcher::is_awaited(const Queue& queue) const {
  return queue.is_unrecorded() && (context_.executors.has_waiting_visitors() || context_.run_state.is_exiting());
}

// --- Completing. ---

bool Launcher::complete_some() {
  bool has_completed = false;
  for (Queue& queue : queues_.all()) {
    for (std::size_t count = queues_.count_complete(queue); count > 0; --count) {
      complete_first(queue);
      has_completed = true;
    }
  }
  return has_completed;
}

void Launcher::complete_first(Queue& queue) {
  const IssuedQueue::Issued first = queue.all().front();
  Operation& operation = context_.ring.at(first.number);
  // If the device fails here, the operation is still in flight, and give_up() completes it.
  if (failure_ == nullptr) queues_.report_times(first, operation.queue);
  queue.pop();
  if (&queue != &queues_.computing()) {
    for (const Operand& operand : operation.invocation.all_operands()) {
      if (operand.storage->device != &device_) continue;
      device_.copied_bytes.fetch_sub(operand.storage->size_bytes, std::memory_order_relaxed);
    }
    release_operands(operation.invocation);
  }
  Turn none;
  finish(operation, first.has_failed, none);
}

// Called when the device has failed: operations in flight and later ones get no value. `number`: the operation at hand,
// or UINT64_MAX.
void Launcher::give_up(const std::string& message, std::uint64_t number) {
  if (failure_ == nullptr) {
    std::uint64_t oldest = number;
    for (const Queue& queue : queues_.all()) {
      for (const IssuedQueue::Issued& operation : queue.all()) oldest = std::min(oldest, operation.number);
    }
    failure_ = context_.failures.add(
        oldest, fmt::format("[{}] the device has failed and does nothing more until the process starts anew: {}{}{}",
                            device_.device.str(), message, graph_under_way(), under_way(oldest)));
    // Release: a thread that finds the failure finds its message.
    device_.failure.store(failure_, std::memory_order_release);
    queues_.fail();
  }
  for (Queue& queue : queues_.all()) {
    while (!queue.is_empty()) {
      const IssuedQueue::Issued& issued = queue.all().front();
      const Operation& operation = context_.ring.at(issued.number);
      if (&queue != &queues_.computing()) {  // it still has its operands
        settle(operation.invocation, failure_, true, context_.failures);
        if (issued.was_launched) keep_pinned_results(operation.invocation);
      }
      complete_first(queue);
    }
    queue.forget_events();
  }
}

// Names the operation of this number, the oldest one that may have failed, for messages. UINT64_MAX: none.
std::string Launcher::under_way(std::uint64_t number) const {
  if (number == UINT64_MAX) return "";
  const Operation& operation = context_.ring.at(number);
  return fmt::format("\n  the oldest operation under way: {}\n  queued at {}",
                     op_name(operation.invocation.op, operation.invocation.attributes), operation.origin.str());
}

// Names the graph of the operations in flight, for messages.
std::string Launcher::graph_under_way() const {
  for (const IssuedQueue::Issued& operation : queues_.computing().all()) {
    const Origin& origin = context_.ring.at(operation.number).origin;
    if (origin.graph != 0) return fmt::format(", in graph {}", origin.graph_name());
  }
  return "";
}

// --- Memory. ---

// Takes scratch memory, then memory for results. If there is not enough, results may use scratch memory that only an
// earlier operation needed.
void Launcher::take(const Operation& operation) {
  Queue& queue = queues_.of(operation);
  const std::int64_t size_bytes = rounded_bytes(scratch_bytes(operation.invocation));
  try {
    memory_.grow_scratch(queue, size_bytes);
    Executor::take(operation);
  } catch (const std::bad_alloc&) {
    if (queue.scratch.size_bytes() <= size_bytes) throw;
    memory_.give_back_scratch(queue);
    take(operation);
  }
}

}  // namespace asyncgrad::detail
