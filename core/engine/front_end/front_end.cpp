#include "asyncgrad/core/engine/front_end/front_end.h"

#include <fmt/format.h>

#include <cstring>
#include <new>
#include <optional>

#include "asyncgrad/core/engine/front_end/new_entry.h"
#include "asyncgrad/core/engine/front_end/waiting.h"
#include "asyncgrad/core/engine/run/execution.h"
#include "asyncgrad/core/engine/run/nan_check.h"
#include "asyncgrad/core/engine/schedule/executors.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/memory/planner.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::detail {

namespace {

// Takes memory for data of the program; under the front end's lock. False if the memory is not admitted: the caller
// tries again when the goal is reached.
bool take_room(Storage& storage, Goal& goal, Executors& executors) {
  DeviceState& device = state_of(storage);
  // Read f before asking: if admission refuses, operation f is certainly queued, and f will pass it. A later f may be
  // at the queue's end.
  const std::uint64_t oldest = device.order->oldest().load(std::memory_order_seq_cst);
  note_level(device, executors);
  const std::uint64_t place = device.order->next();
  if (!device.admission().admit(place, storage.size_bytes, device.order->oldest())) {
    goal = {.number = oldest + 1, .all = true, .order = &device.order->order()};
    return false;
  }
  try {
    take_memory_of(storage, place);
  } catch (const std::bad_alloc&) {
    device.admission().give_back(place, storage.size_bytes);
    throw_error(data_operation, fmt::format("out of memory: {} bytes were asked for", storage.size_bytes),
                ErrorKind::memory);
  }
  storage.has_value = true;
  return true;
}

void forbid_nan_checks_on(const Executor& executor, const Submission& submission) {
  if (!NanChecks::are_on || !executor.is_asynchronous()) return;
  throw_error(op_name(submission.op, submission.attributes),
              fmt::format("DetectNan cannot look at values on {}; compute on the CPU to find NaN",
                          state_of(*submission.operands[0].impl->storage).device.str()));
}

}  // namespace

// Its route holds under the lock alone: another thread may set options, which makes executors anew. Whoever needs one
// after that visits it from then on, and so keeps it.
void FrontEnd::submit(const Submission& submission) {
  InOperation::forbid("a queueing call");
  bool may_catch_up = true, may_pass = false;
  for (;;) {
    ProgramQueue::Wakeups wakeups;
    ProgramQueue::Outcome outcome{};
    Executor* executor = nullptr;
    std::optional<Executors::Visit> visit;
    std::uint64_t with_room = 0;
    std::int64_t patience_us = 0;
    bool is_immediate = false;
    {
      const SpinLockGuard lock(queue_.lock());
      const Route route = route_of(submission);
      forbid_nan_checks_on(route.executor, submission);
      outcome = queue_.try_submit(route, submission, {.may_catch_up = may_catch_up, .may_pass = may_pass}, wakeups);
      is_immediate = queue_.is_immediate();
      if (outcome == ProgramQueue::Outcome::done && !is_immediate && !wakeups.are_needed()) return;
      executor = &route.executor;
      visit.emplace(queue_.context().executors);
      if (outcome == ProgramQueue::Outcome::full) with_room = queue_.number_with_room();
      if (outcome == ProgramQueue::Outcome::stand_back) patience_us = queue_.patience_us();
    }
    wakeups.send();
    if (outcome == ProgramQueue::Outcome::catch_up) {
      catch_up(queue_, *executor);
      may_catch_up = false;
    } else if (outcome == ProgramQueue::Outcome::needs_threads) {
      executor->workers().ensure_started();
    }
    visit.reset();  // what follows may wait
    switch (outcome) {
      case ProgramQueue::Outcome::done:
        if (is_immediate) finish(submission.operands);
        return;
      case ProgramQueue::Outcome::full:
        wait_until(queue_, {.number = with_room, .all = true}, UINT64_MAX);
        break;
      case ProgramQueue::Outcome::stand_back:
        stand_back(queue_, patience_us);
        may_pass = true;
        break;
      case ProgramQueue::Outcome::catch_up:
      case ProgramQueue::Outcome::needs_threads:
        break;
    }
  }
}

// Waits for the operation that was just submitted and throws what it, or its cause, failed with.
void FrontEnd::finish(std::span<const OperandRef> operands) {
  for (const OperandRef& ref : operands) {
    if (ref.access != Access::read) wait(*ref.impl->storage);
  }
}

void FrontEnd::hand_over(Storage& storage, const Shape& shape, const void* values, std::size_t size_bytes,
                         Location where) {
  InOperation::forbid("a queueing call");
  if (Planner* const planner = Planner::get()) planner->make_room(*storage.device);
  for (;;) {
    Goal goal;
    {
      const SpinLockGuard lock(queue_.lock());
      if (queue_.is_dry_run()) return queue_.dry_run().count_data(storage, shape, where);
      if (take_room(storage, goal, queue_.context().executors)) break;
    }
    wait_until(queue_, goal, UINT64_MAX);  // each step of f lets this try again
  }
  storage.device->holders.note(storage, {.operation = data_operation, .shape = shape, .origin = origin_at(where)});
  if (size_bytes > 0) std::memcpy(storage.data, values, size_bytes);
}

void FrontEnd::wait(Storage& storage) {
  const std::uint64_t writer = storage.last_writer.load(std::memory_order_relaxed);
  wait_until(queue_, {.number = writer, .all = false}, writer);
  if (queue_.is_dry_run()) return;  // what it left uncomputed is no failure
  queue_.context().failures.deliver_failure_of(storage);
  // Values that were in flight when the device failed are not known.
  if (Failure* failure = state_of(storage).failure.load(std::memory_order_acquire))
    queue_.context().failures.deliver(*failure);
}

// Relaxed: the calling thread has queued the last write that it knows of, or has synchronised with the thread that has,
// so that it reads that write's number or a later one. Sequentially consistent inside of reached(), which makes it an
// acquire: a thread that gets true sees what the write has written, as after a wait. A number that is reached stays
// reached, also when the entry belongs to another operation or the ring was made anew.
//
// It offers what is staged, or a thread that only asks might ask for ever. Meanwhile it visits the executors, because
// another thread may set options, see help_workers(): either this thread sees that everything is finished, or that thread
// keeps the executors until the wakeup is sent.
bool FrontEnd::is_finished(const Storage& storage) {
  const Goal goal{.number = storage.last_writer.load(std::memory_order_relaxed)};
  const Ring& ring = queue_.context().ring;
  if (ring.reached(goal)) return true;
  const Executors::WaitingVisit visit(queue_.context().executors);
  if (ring.reached(goal)) return true;
  queue_.try_to_offer_staged();
  return false;
}

}  // namespace asyncgrad::detail
