#include "asyncgrad/core/engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

#include "asyncgrad/core/engine/device/slow_link.h"
#include "asyncgrad/core/engine/run/execution.h"
#include "asyncgrad/core/engine/run/operation_profile.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/profile/profile.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad {

namespace detail {

namespace {

[[noreturn]] void throw_not_in_use(const DeviceState& device, Op op, const void* attributes) {
  throw_error(op_name(op, attributes), fmt::format("{} is not in use any more", device.device.str()));
}

const Kernel& kernel_of(const DeviceState& device, const Submission& submission) {
  const Op op = submission.op;
  const void* const attributes = submission.attributes;
  const Kernel& kernel =
      op == Op::elementwise
          ? device.backend->elementwise[static_cast<const ElementwiseAttributes*>(attributes)->formula]
          : device.backend->kernels[static_cast<std::size_t>(op)];
  if (kernel.run == nullptr)
    throw_error(op_name(op, attributes), fmt::format("has no kernel for {}", device.device.str()));
  return kernel;
}

// Where an operation runs.
struct Home {
  const DeviceState* device;  // whose kernel
  Stream* stream;
  bool is_slow_link = false;
};

// A copy between two devices runs on the one that it writes, but on one that has queues of its own if only the other
// has.
Home home_of_copy(const DeviceState& device, const DeviceState& from, const EngineOptions& options) {
  for (const DeviceState* used : {&device, &from}) {
    if (used->stream == nullptr) throw_not_in_use(*used, Op::copy, nullptr);
  }
  if (&from == &device) return {&device, device.stream};
  const DeviceState& computing = from.is_asynchronous && !device.is_asynchronous ? from : device;
  return {&computing, computing.copies, options.copy_bytes_per_second > 0 && !computing.is_asynchronous};
}

// Others run where their operands are.
Home home_of(const Submission& submission, const EngineOptions& options) {
  const DeviceState& device = state_of(*submission.operands[0].impl->storage);
  if (submission.op == Op::copy) {
    return home_of_copy(device, state_of(*submission.operands[1].impl->storage), options);
  }
  if (device.stream == nullptr) throw_not_in_use(device, submission.op, submission.attributes);
  return {&device, device.stream};
}

}  // namespace

inline void Engine::submit(const Submission& submission) {
  InOperation::forbid("a queueing call");
  const Home home = home_of(submission, options_);
  Stream& stream = *home.stream;
  const Kernel& kernel = home.is_slow_link ? slow_copy() : kernel_of(*home.device, submission);
  {
    std::unique_lock lock(front_end_);
    if (is_dry_run()) return dry_run_.count_operation(submission);
    if (!options_.inline_tiny || !run_at_call(stream, kernel, submission, lock)) {
      queue_and_offer(stream, kernel, submission, lock);
    }
  }
  if (options_.schedule == Schedule::immediate) finish_and_throw(submission.operands);
}

// Called with the lock, which it gives up and takes anew while it waits for room; returns without it.
void Engine::queue_and_offer(Stream& stream, const Kernel& kernel, const Submission& submission,
                             std::unique_lock<SpinLock>& lock) {
  News of_earlier, of_this;
  while (!has_room(submission.operands)) {
    const auto capacity = static_cast<std::uint64_t>(options_.queue_capacity);
    const std::uint64_t next = next_.load(std::memory_order_relaxed);
    lock.unlock();
    if (next >= capacity) wait_until({.number = next - capacity + 1, .all = true}, UINT64_MAX);
    lock.lock();
  }
  // Short ones, but not tiny ones, are held only until the next operation is queued.
  if (held_.any() && (held_.stream() != &stream || last_long_ >= held_.first())) of_earlier = offer_batch();
  Operation& operation = queue(stream, kernel, submission);
  tell_queued(operation);
  note_peak_queued();
  if (!operation.is_tiny) last_long_ = operation.number;
  held_.add(operation);
  if (!operation.is_short || !stream.passes_on() || held_.is_full()) of_this = offer_batch();
  lock.unlock();
  tell(of_earlier, nullptr);
  tell(of_this, nullptr);
}

Engine::News Engine::offer_batch() {
  if (!held_.any()) return {};
  for (const Held::Tie& held : held_.ties()) tie(*held.edge, held.predecessor);
  const std::uint64_t first = held_.first();
  std::uint64_t ready = held_.ready();
  for (std::uint64_t open = held_.open(); open != 0; open &= open - 1) {
    const int place = std::countr_zero(open);
    if (end_linking(ring_.at(first + static_cast<std::uint64_t>(place)))) ready |= std::uint64_t{1} << place;
  }
  Stream& stream = *held_.stream();
  held_.clear();
  if (ready == 0) return {};
  // The last one alone may be long.
  const std::uint64_t last = std::bit_floor(ready);
  const bool has_long = !ring_.at(first + static_cast<std::uint64_t>(std::countr_zero(last))).is_short;
  stream.make_ready(first, ready);
  // Those who compute will come to what is short.
  const bool has_short = !has_long || ready != last;
  const bool is_left = has_short && stream.crew().leave_to_computing_thread();
  return {&stream, (has_long ? 1 : 0) + (has_short && !is_left ? 1 : 0)};
}

// The lock is taken even if nothing seems to be held: another thread may be queueing what this one waits for.
void Engine::offer_held(const Stream* computed_for) {
  News news;
  {
    const std::lock_guard lock(front_end_);
    news = offer_batch();
  }
  tell(news, computed_for);
}

// What is held of another stream may wait for what this worker has just done.
bool Engine::try_to_offer_held(const Stream& stream) {
  if (!held_.any()) return false;
  std::unique_lock lock(front_end_, std::try_to_lock);
  if (!lock.owns_lock()) {
    std::this_thread::yield();
    return true;  // its holder queues: there may be something to compute soon
  }
  if (!held_.any()) return false;
  const bool is_own = held_.stream() == &stream;
  const News news = offer_batch();
  lock.unlock();
  tell(news, &stream);
  return is_own;
}

// Waits for the operation that was just submitted and throws what it, or its cause, failed with.
void Engine::finish_and_throw(std::span<const OperandRef> operands) {
  for (const OperandRef& ref : operands) {
    if (ref.access != Access::read) wait(*ref.impl->storage);
  }
}

bool Engine::has_room(std::span<const OperandRef> operands) {
  const std::uint64_t next = next_.load(std::memory_order_relaxed);
  const auto capacity = static_cast<std::uint64_t>(options_.queue_capacity);
  if (next - oldest_seen_ >= capacity) oldest_seen_ = ring_.oldest().load(std::memory_order_seq_cst);
  if (next - oldest_seen_ >= capacity) return false;
  if (has_orders_ && !std::ranges::all_of(operands, [](const OperandRef& ref) {
        return state_of(*ref.impl->storage).order->has_room();
      })) {
    return false;
  }
  // Acquire: whoever completed the slot's last operation is done with it. That is a matter of instants: f has passed
  // it.
  const Operation& operation = ring_.at(next);
  return operation.retired.load(std::memory_order_acquire) == operation.finished.load(std::memory_order_relaxed);
}

void Engine::wait(Storage& storage) {
  if (is_dry_run()) return;
  const std::uint64_t writer = storage.last_writer.load(std::memory_order_relaxed);
  wait_until({.number = writer, .all = false}, writer);
  if (storage.failure != nullptr) failures_.deliver(*storage.failure);
  // What was in flight when the device failed is not known by its values.
  if (Failure* failure = state_of(storage).failure.load(std::memory_order_acquire)) failures_.deliver(*failure);
}

void Engine::wait_for_all_before(std::uint64_t number) { wait_until({.number = number, .all = true}, number - 1); }

void Engine::wait_all() {
  wait_for_all_before(next_number());
  failures_.deliver_oldest();
}

int Engine::recover() {
  wait_for_all_before(next_number());
  forget_levels();
  return failures_.recover();
}

// What has failed may have asked for more than there is, and would leave a budget without bounds. If other threads have
// queued something meanwhile, all stays as it is.
void Engine::forget_levels() {
  const std::lock_guard lock(front_end_);
  if (ring_.oldest().load(std::memory_order_seq_cst) != next_.load(std::memory_order_relaxed)) return;
  for (DeviceState* device : devices_) {
    device->admission->set_largest(device->serial_live.total());
    device->allocator.set_limit(device->admission->limit());
  }
}

void Engine::trim_other_parts(const DeviceState& device) {
  for (DeviceState* other : devices_) {
    if (other != &device && !other->is_asynchronous) other->allocator.trim();
  }
}

std::unique_lock<SpinLock> Engine::lock_to_look() {
  InOperation::forbid("a look at the engine");
  return std::unique_lock(front_end_);
}

std::uint64_t Engine::next_number() { return next_.load(std::memory_order_relaxed); }

void Engine::wait_until(const Goal& goal, std::uint64_t limit) {
  InOperation::forbid("a wait");  // reached or not: which it is would be a matter of time
  if (reached(goal)) return;
  // From a static destructor, say: the wait would not end.
  if (is_exiting_thread()) throw_error("engine", "a wait for what the end of the process has dropped");
  const profile::WaitSpan span;
  const auto start = std::chrono::steady_clock::now();
  {
    const Guest guest(guests_);
    Stream& stream = stream_to_help(goal);
    offer_held(&stream);
    stream.crew().help(goal, limit);
  }
  waited_s() += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Where what the goal waits for runs, if it runs on threads; at least as good as any other.
Stream& Engine::stream_to_help(const Goal& goal) {
  if (stream_count_.load(std::memory_order_acquire) == 1) return *streams_[0];
  const std::lock_guard lock(front_end_);  // no record becomes another operation's meanwhile
  const std::uint64_t number = goal.all ? ring_.oldest().load(std::memory_order_seq_cst) : goal.number;
  if (number == 0 || number >= next_.load(std::memory_order_relaxed) || ring_.at(number).number != number) {
    return *streams_[0];
  }
  Stream& stream = stream_of(ring_.at(number));
  return stream.is_asynchronous() ? *streams_[0] : stream;
}

bool Engine::reached(const Goal& goal) const {
  if (!goal.all) {
    // Of the oldest f tells, which is about to move if that is finished: a thread that looks again and again would take
    // the record from whoever computes it. Whoever finishes an operation looks for waiting threads when f has moved.
    const std::uint64_t oldest = ring_.oldest().load(std::memory_order_seq_cst);
    return goal.number < oldest || (goal.number != oldest && ring_.finished(goal.number));
  }
  const std::atomic<std::uint64_t>& oldest = goal.oldest == nullptr ? ring_.oldest() : *goal.oldest;
  return oldest.load(std::memory_order_seq_cst) >= goal.number;
}

// The exact length of the queue is asked for only if it may be the longest so far.
void Engine::note_peak_queued() {
  const std::uint64_t next = next_.load(std::memory_order_relaxed);
  if (static_cast<std::int64_t>(next - oldest_seen_) <= peak_queued_) return;
  oldest_seen_ = ring_.oldest().load(std::memory_order_seq_cst);
  peak_queued_ = std::max(peak_queued_, static_cast<std::int64_t>(next - oldest_seen_));
}

void submit(const Submission& submission) { Engine::get().submit(submission); }

}  // namespace detail

void set_engine_options(const EngineOptions& options) { detail::Engine::get().set_options(options); }
EngineOptions engine_options() { return detail::Engine::get().options(); }

void Mark::wait() const { detail::Engine::get().wait_for_all_before(number_); }
Mark mark() { return Mark(detail::Engine::get().next_number()); }

void wait_all() { detail::Engine::get().wait_all(); }
int recover() { return detail::Engine::get().recover(); }
EngineFigures engine_figures() { return detail::Engine::get().figures(); }

}  // namespace asyncgrad
