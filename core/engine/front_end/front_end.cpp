#include "asyncgrad/core/engine/front_end/front_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>

#include "asyncgrad/core/engine/front_end/new_record.h"
#include "asyncgrad/core/engine/run/execution.h"
#include "asyncgrad/core/engine/run/nan_check.h"
#include "asyncgrad/core/engine/run/operation_profile.h"
#include "asyncgrad/core/engine/schedule/executors.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/profile/profile.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::detail {

namespace {

// Seconds that the calling thread has waited, or computed while it waited.
constinit thread_local double waited_s = 0;

// Takes memory that no operation will; under the front end's lock. False if the memory is not admitted before the goal
// is reached.
bool take_room(Storage& storage, Goal& goal, Executors& executors) {
  DeviceState& device = state_of(storage);
  // f is read before the question: after a refusal the operation f is queued, so that f gets past it; f as it is later
  // may be at the queue's end.
  const std::uint64_t oldest = device.order->oldest().load(std::memory_order_seq_cst);
  note_level(device, executors);
  const std::uint64_t place = device.order->next();
  if (!device.admission->admit(place, storage.size_bytes, device.order->oldest())) {
    goal = {.number = oldest + 1, .all = true, .order = &device.order->order()};
    return false;
  }
  try {
    take_memory_of(storage, place);
  } catch (const std::bad_alloc&) {
    device.admission->give_back(place, storage.size_bytes);
    throw_error("from", fmt::format("out of memory: {} bytes asked for", storage.size_bytes), ErrorKind::memory);
  }
  storage.has_value = true;
  return true;
}

}  // namespace

void FrontEnd::submit(const Submission& submission) {
  InOperation::forbid("a queueing call");
  const Route route = route_of(submission);
  if (NanChecks::are_on && route.executor.is_asynchronous()) {
    throw_error(op_name(submission.op, submission.attributes),
                fmt::format("DetectNan cannot look at values on {}",
                            state_of(*submission.operands[0].impl->storage).device.str()));
  }
  for (bool may_catch_up = true;;) {
    AllNews news;
    Outcome outcome{};
    std::uint64_t next = 0;
    {
      const SpinLockGuard lock(lock_);
      outcome = try_submit(route, submission, may_catch_up, news);
      next = next_.load(std::memory_order_relaxed);
    }
    news.earlier.tell();
    news.own.tell();
    const auto capacity = static_cast<std::uint64_t>(options_.queue_capacity);
    switch (outcome) {
      case Outcome::done:
        if (options_.schedule == Schedule::immediate) finish(submission.operands);
        return;
      case Outcome::full:
        // Waits until an eighth of the queue is free, so that a stream of tiny operations does not wait for each place.
        if (next >= capacity) wait_until({.number = next - capacity + 1 + capacity / 8, .all = true}, UINT64_MAX);
        break;
      case Outcome::catch_up:
        catch_up(route.executor);
        may_catch_up = false;
        break;
      case Outcome::needs_threads:
        route.executor.workers().ensure_started();
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

FrontEnd::Outcome FrontEnd::try_submit(const Route& route, const Submission& submission, bool may_catch_up,
                                       AllNews& news) {
  if (is_dry_run()) {
    dry_run_.count_operation(submission);
    return Outcome::done;
  }
  if (options_.inline_tiny) {
    const AtCall::Outcome outcome = at_call_.run(route, submission, next_.load(std::memory_order_relaxed));
    if (outcome == AtCall::Outcome::computed) return Outcome::done;
    if (outcome == AtCall::Outcome::unfinished && may_catch_up && has_few_unfinished()) {
      news.earlier = offer_locked();
      return Outcome::catch_up;
    }
  }
  if (!route.executor.workers().has_started()) return Outcome::needs_threads;
  if (!has_room(submission)) return Outcome::full;
  queue(route, submission, news);
  return Outcome::done;
}

// Whether a few tiny operations are all that is unfinished. Then the calling thread computes them: queueing behind them
// would cost more, and a program of tiny operations that was queued once would be queued for ever.
bool FrontEnd::has_few_unfinished() {
  const bool may_be_tiny = dependencies_.oldest_seen() > last_large_ || dependencies_.see_oldest() > last_large_;
  return may_be_tiny && next_.load(std::memory_order_relaxed) - dependencies_.oldest_seen() <= Batch::most;
}

void FrontEnd::catch_up(Executor& executor) {
  const std::uint64_t next = next_number();
  const profile::WaitSpan span;
  const Executors::Guest guest(context_.executors);
  executor.workers().compute_briefly({.number = next, .all = true}, next - 1);
}

bool FrontEnd::has_room(const Submission& submission) {
  const std::uint64_t next = next_.load(std::memory_order_relaxed);
  const auto capacity = static_cast<std::uint64_t>(options_.queue_capacity);
  if (next - dependencies_.oldest_seen() >= capacity && next - dependencies_.see_oldest() >= capacity) return false;
  if (!state_of(*submission.operands[0].impl->storage).order->has_room()) return false;
  // Only a copy touches two devices. An input's storage is not asked, as workers write to it at every use's end.
  if (submission.op == Op::copy && !state_of(*submission.operands[1].impl->storage).order->has_room()) return false;
  // Acquire: the thread that completed the slot's last operation is done with it. That is a matter of instants: f has
  // passed it.
  const Operation& operation = context_.ring.at(next);
  return operation.retired.load(std::memory_order_acquire) == operation.number;
}

// Throws std::bad_alloc with nothing changed.
void FrontEnd::queue(const Route& route, const Submission& submission, AllNews& news) {
  if (!batch_.is_empty() && batch_.executor() != &route.executor) news.earlier = offer_locked();
  Operation& operation = context_.ring.at(next_number());
  // Workers had the records last: fetched early, their lines are here when their turn comes.
  prefetch_for_writing(context_.ring.at(next_number() + 3));
  dependencies_.recycle(operation);
  operation.make_room(submission.operands.size());
  dependencies_.reserve(submission.operands, batch_);
  const std::uint64_t next = next_number() + 1;
  fill_record(operation, next - 1, route, submission);  // nothing from here on can fail
  next_.store(next, std::memory_order_relaxed);
  take_places(operation, submission, context_.executors);
  dependencies_.link(operation, submission.operands, batch_);
  tell_queued(operation);
  // The exact length of the queue is asked for only if it may be the longest so far.
  if (static_cast<std::int64_t>(next - dependencies_.oldest_seen()) > peak_queued_) {
    peak_queued_ = std::max(peak_queued_, static_cast<std::int64_t>(next - dependencies_.see_oldest()));
  }
  const bool is_large = operation.weight == Weight::large;
  if (is_large) last_large_ = operation.number;
  batch_.add(operation);
  has_batch_.store(true, std::memory_order_relaxed);
  if (is_large || batch_.is_full() || !route.executor.takes_batches()) news.own = offer_locked();
}

FrontEnd::News FrontEnd::offer_locked() {
  if (batch_.is_empty()) return {};
  const std::uint64_t ready = dependencies_.tie(batch_);
  const std::uint64_t first = batch_.first();
  Executor& executor = *batch_.executor();
  batch_.clear();
  has_batch_.store(false, std::memory_order_relaxed);
  if (ready == 0) return {};
  // Only the last one can be large.
  const std::uint64_t last = std::bit_floor(ready);
  const Operation& youngest = context_.ring.at(first + static_cast<std::uint64_t>(std::countr_zero(last)));
  const bool has_large = youngest.weight == Weight::large, has_tiny = !has_large || ready != last;
  executor.make_ready(first, ready);
  // Threads that compute will come to what is tiny.
  const bool is_left = has_tiny && executor.workers().leave_to_computing_thread();
  if (has_tiny && !is_left) executor.workers().leave_rest();
  return {&executor, (has_large ? 1 : 0) + (has_tiny && !is_left ? 1 : 0)};
}

// The lock is taken even if the batch seems empty: another thread may be queueing what this one waits for.
void FrontEnd::offer_batch(const Executor* computed_for) {
  News news;
  {
    const SpinLockGuard lock(lock_);
    news = offer_locked();
  }
  if (news.executor != computed_for) news.tell();
}

// A worker must not wait for the lock. What is in the batch of another executor may wait for what this worker has done.
bool FrontEnd::try_to_offer_batch(const Executor& executor) {
  if (!has_batch_.load(std::memory_order_relaxed)) return false;
  if (!lock_.try_lock()) {
    std::this_thread::yield();
    return true;  // its holder queues: there may be something to compute soon
  }
  const bool is_own = !batch_.is_empty() && batch_.executor() == &executor;
  const News news = offer_locked();
  lock_.unlock();
  if (news.executor != &executor) news.tell();
  return is_own;
}

void FrontEnd::hand_over(Storage& storage, const Shape& shape, const void* values, std::size_t size_bytes,
                         Location where) {
  InOperation::forbid("a queueing call");
  for (;;) {
    Goal goal;
    {
      const SpinLockGuard lock(lock_);
      if (is_dry_run()) return dry_run_.count_data(storage, shape, where);
      if (take_room(storage, goal, context_.executors)) break;
    }
    wait_until(goal, UINT64_MAX);  // each step of f lets this try again
  }
  if (size_bytes > 0) std::memcpy(storage.data, values, size_bytes);
}

void FrontEnd::wait(Storage& storage) {
  const std::uint64_t writer = storage.last_writer.load(std::memory_order_relaxed);
  wait_until({.number = writer, .all = false}, writer);
  if (is_dry_run()) return;  // what it left uncomputed is no failure
  context_.failures.deliver_failure_of(storage);
  // Nobody knows the values of what was in flight when the device failed.
  if (Failure* failure = state_of(storage).failure.load(std::memory_order_acquire)) context_.failures.deliver(*failure);
}

void FrontEnd::wait_until(const Goal& goal, std::uint64_t limit) {
  InOperation::forbid("a wait");  // reached or not: which it is would be a matter of time
  if (context_.ring.reached(goal)) return;
  // A static destructor, for example, may come here: its wait would not end.
  if (context_.run_state.is_exiting_here()) throw_error("engine", "a wait for what the end of the process has dropped");
  const profile::WaitSpan span;
  const auto start = std::chrono::steady_clock::now();
  if (const WaitHooks* const hooks = wait_hooks(); hooks != nullptr) {
    wait_for_workers(goal, *hooks);
  } else {
    help_workers(goal, limit);
  }
  waited_s += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A thread that sets options finishes everything and waits for guests, before it takes executors down: either it sees
// this one, or this one sees that everything is finished.
void FrontEnd::help_workers(const Goal& goal, std::uint64_t limit) {
  const Executors::Guest guest(context_.executors);
  if (context_.ring.reached(goal)) return;
  Executor& executor = executor_to_help(goal);
  offer_batch(&executor);
  executor.workers().help(goal, limit);
}

// Another language's threads compute nothing: its interrupts are answered while the workers compute. This one is no
// guest while a hook runs, which may wait for the lock of the language: a thread that has that lock may set options.
void FrontEnd::wait_for_workers(const Goal& goal, const WaitHooks& hooks) {
  struct Blocked {
    explicit Blocked(const WaitHooks& used) : hooks(used) { hooks.begin(); }
    Blocked(const Blocked&) = delete;
    Blocked& operator=(const Blocked&) = delete;
    ~Blocked() { hooks.end(); }
    const WaitHooks& hooks;
  };
  const Blocked blocked(hooks);
  std::optional<Executors::Guest> guest(std::in_place, context_.executors);
  if (context_.ring.reached(goal)) return;
  offer_batch();
  // What is about to be finished is not worth falling asleep for.
  constexpr auto spin_time = std::chrono::microseconds(20);
  for (const auto end = std::chrono::steady_clock::now() + spin_time; std::chrono::steady_clock::now() < end;) {
    for (int look = 0; look < 8; ++look) {
      if (context_.ring.reached(goal)) return;
      pause_briefly();
    }
  }
  const bool may_ask = may_interrupt();
  const auto is_interrupted = [&] {
    if (!may_ask) return false;
    guest.reset();
    const bool interrupted = hooks.is_interrupted();
    guest.emplace(context_.executors);
    return interrupted;
  };
  if (!context_.waiters.sleep_until(goal, is_interrupted)) throw Interrupted();
}

// The one on which that runs that the goal waits for, if threads compute for it; it is at least as good as any other.
Executor& FrontEnd::executor_to_help(const Goal& goal) {
  const auto executors = context_.executors.all();
  if (executors.size() == 1) return *executors[0];
  const SpinLockGuard lock(lock_);  // no record becomes another operation's meanwhile
  const std::uint64_t number = goal.all ? context_.ring.oldest().load(std::memory_order_seq_cst) : goal.number;
  if (number == 0 || number >= next_number() || context_.ring.at(number).number != number) return *executors[0];
  Executor& executor = executor_of(context_.ring.at(number));
  return executor.is_asynchronous() ? *executors[0] : executor;
}

EngineFigures FrontEnd::figures() {
  InOperation::forbid("a look at the engine");
  const SpinLockGuard lock(lock_);
  const std::uint64_t next = next_number();
  EngineFigures figures;
  figures.inlined = at_call_.count();
  figures.operations = static_cast<std::int64_t>(next) - 1 + figures.inlined;
  figures.queued = static_cast<std::int64_t>(next - context_.ring.oldest().load(std::memory_order_relaxed));
  figures.peak_queued = peak_queued_;
  figures.frontend_wait_s = waited_s;
  figures.record_bytes =
      static_cast<std::int64_t>(context_.ring.slots() * sizeof(Operation)) + dependencies_.edge_bytes();
  return figures;
}

void FrontEnd::reset_peaks(DeviceState& device) {
  InOperation::forbid("a look at the engine");
  const SpinLockGuard lock(lock_);
  peak_queued_ = static_cast<std::int64_t>(next_number() - context_.ring.oldest().load(std::memory_order_relaxed));
  device.reset_peaks();
  note_level(device, context_.executors);
  if (is_dry_run()) dry_run_.reset(device);
}

DryRunReport FrontEnd::dry_run_report(const DeviceState& device) {
  InOperation::forbid("a look at the engine");
  const SpinLockGuard lock(lock_);
  return dry_run_.report(device);
}

// Under the lock no record is used again, and nothing but the atomics changes in one.
std::vector<PendingOperation> FrontEnd::pending() {
  InOperation::forbid("a look at the engine");
  const SpinLockGuard lock(lock_);
  return pending_in(context_.ring, next_number(), SIZE_MAX);
}

std::optional<std::vector<PendingOperation>> FrontEnd::try_pending(std::size_t most) {
  constexpr int tries = 200;
  for (int i = 0; i < tries; ++i) {
    if (lock_.try_lock()) {
      std::vector<PendingOperation> found = pending_in(context_.ring, next_number(), most);
      lock_.unlock();
      return found;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return std::nullopt;
}

void FrontEnd::set_up(bool has_new_records) {
  if (has_new_records) dependencies_.forget();
  is_dry_run_.store(options_.schedule == Schedule::dry_run, std::memory_order_relaxed);
}

void FrontEnd::begin_dry_run(std::span<DeviceState* const> devices) {
  if (!is_dry_run()) return;
  for (DeviceState* device : devices) dry_run_.reset(*device);
}

void FrontEnd::forget_levels(std::span<DeviceState* const> devices) {
  const SpinLockGuard lock(lock_);
  if (context_.ring.oldest().load(std::memory_order_seq_cst) != next_number()) return;
  for (DeviceState* device : devices) device->forget_levels();
}

void FrontEnd::lock_when_idle() {
  const Uninterrupted uninterrupted;
  for (;;) {
    const std::uint64_t next = next_number();
    wait_until({.number = next, .all = true}, next - 1);
    lock_.lock();
    if (context_.ring.oldest().load(std::memory_order_seq_cst) == next_number()) break;
    lock_.unlock();
  }
  // What is finished may not have retired yet: the thread that finished it may still be in its record.
  for (const Operation& operation : context_.ring.records()) {
    while (operation.retired.load(std::memory_order_acquire) != operation.number) std::this_thread::yield();
  }
}

}  // namespace asyncgrad::detail
