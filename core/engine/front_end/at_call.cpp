// What takes no place in the queue: tiny operations that are computed at their call, and data that is handed over.
// Under the front end's lock.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "asyncgrad/core/engine/engine.h"
#include "asyncgrad/core/engine/run/execution.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/profile/profile.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::detail {

// All that an operation would wait for because of this operand.
inline bool Engine::is_finished(const OperandRef& ref) {
  const Storage& storage = *ref.impl->storage;
  if (!seen_finished(storage.last_writer.load(std::memory_order_relaxed))) return false;
  // Of several readers the last may be finished before the others: then this says no too often.
  if (ref.access == Access::read || storage.last_reader < oldest_seen_) return true;
  oldest_seen_ = ring_.oldest().load(std::memory_order_seq_cst);
  return storage.last_reader < oldest_seen_;
}

// If a few tiny operations are all that is unfinished, then the calling thread computes them: queueing behind them
// would cost more, and a program of tiny operations that was queued once would be so for ever. True if all that the
// operation would wait for is finished then.
bool Engine::catch_up(Stream& stream, std::span<const OperandRef> operands, std::unique_lock<SpinLock>& lock) {
  const std::uint64_t next = next_.load(std::memory_order_relaxed);
  if (oldest_seen_ <= last_long_) oldest_seen_ = ring_.oldest().load(std::memory_order_seq_cst);
  if (oldest_seen_ <= last_long_ || next - oldest_seen_ > Held::most) return false;
  const News news = offer_batch();
  lock.unlock();
  tell(news, &stream);
  {
    const profile::WaitSpan span;
    const Guest guest(guests_);
    stream.crew().compute_briefly({.number = next, .all = true}, next - 1);
  }
  lock.lock();
  oldest_seen_ = ring_.oldest().load(std::memory_order_seq_cst);
  return std::ranges::all_of(operands, [this](const OperandRef& ref) { return is_finished(ref); });
}

// Computes a tiny operation now, if nothing that it waits for is unfinished and admission allows. It takes no number:
// its memory belongs to the next operation's.
bool Engine::run_at_call(Stream& stream, const Kernel& kernel, const Submission& submission,
                         std::unique_lock<SpinLock>& lock) {
  const std::span<const OperandRef> refs = submission.operands;
  if (stream.is_asynchronous()) return false;  // the device's launch thread alone calls it
  if (refs.size() > operands_at_call_.size()) return false;
  Invocation invocation{.kernel = &kernel,
                        .operands = operands_at_call_.data(),
                        .views = views_at_call_.data(),
                        .attributes = submission.attributes,
                        .operand_count = static_cast<int>(refs.size()),
                        .op = submission.op};
  // Once through the operands for all questions: there are more of those than work.
  std::int64_t elements = 0, bytes = 0;
  Storage* lacking = nullptr;  // the last that lacks memory
  bool has_poison = false;
  for (std::size_t i = 0; i < refs.size(); ++i) {
    const OperandRef& ref = refs[i];
    if (!is_finished(ref)) return catch_up(stream, refs, lock) && run_at_call(stream, kernel, submission, lock);
    set_operand(invocation, i, ref);
    Storage& storage = *ref.impl->storage;
    elements += ref.impl->shape.numel();
    if (lacks_memory(operands_at_call_[i], ref.access)) {
      lacking = &storage;
      bytes += storage.size_bytes;
    }
    has_poison |= storage.failure != nullptr;
  }
  KernelCall call = invocation.call();
  if ((kernel.cost == nullptr ? elements : kernel.cost(call)) > tiny_cost) return false;
  if (kernel.tiles != nullptr && kernel.tiles(call) != 1) return false;
  DeviceState& device = *operands_at_call_[0].storage->device;
  note_level(device);
  if (has_poison) {
    if (Failure* cause = first_cause(invocation)) {
      settle_at_call(invocation, cause, false);
      return true;
    }
  }
  const std::uint64_t number = next_.load(std::memory_order_relaxed), place = next_on(device);
  if (!device.admission->admit(place, bytes, *device.oldest)) return false;
  try {
    if (auto* before = hook()) {
      const InOperation here;
      before(number);
    }
    if (bytes > 0) {
      if (bytes == lacking->size_bytes && bytes < Holders::fewest_bytes) {
        take_memory_of(*lacking, place);  // all that there is to do
      } else {
        take_memory(invocation, place);
      }
    }
  } catch (const std::bad_alloc&) {
    device.admission->give_back(place, bytes);
    return false;  // queued, it can wait until others return some
  } catch (...) {
    fail_at_call(invocation, number, false, submission.where);
    return true;
  }
  compute_at_call(invocation, call, *device.backend, number, has_poison, submission.where);
  return true;
}

inline void Engine::compute_at_call(Invocation& invocation, KernelCall& call, const Backend& backend,
                                    std::uint64_t number, bool has_poison, const Location& where) {
  const std::uint64_t previous = detail::enter_thread(backend);
  bool started = false;
  try {
    prepare(invocation);
    started = true;
    const profile::CallSpan span(invocation, where);
    run_tile(invocation, call, 0);
  } catch (...) {
    detail::leave_thread(backend, previous);
    return fail_at_call(invocation, number, started, where);
  }
  detail::leave_thread(backend, previous);
  if (has_poison) return settle_at_call(invocation, nullptr, true);
  for (int i = 0; i < invocation.operand_count; ++i) {
    if (invocation.views[i].access == Access::read) break;  // outputs come first
    Storage& storage = *invocation.operands[i].storage;
    note_write(storage);
    storage.has_value = true;
  }
  ++inlined_;
}

// For the exception that is being handled.
void Engine::fail_at_call(Invocation& invocation, std::uint64_t number, bool started, const Location& where) {
  const Origin origin = origin_at(where);
  invocation.origin = &origin;
  Failure* const failure = fail(invocation, number);
  settle_at_call(invocation, failure, started);
  failures_.let_go(*failure);
}

void Engine::settle_at_call(const Invocation& invocation, Failure* failure, bool started) {
  for (int i = 0; i < invocation.operand_count; ++i) {
    if (invocation.views[i].access != Access::read) note_write(*invocation.operands[i].storage);
  }
  settle(invocation, failure, started, failures_);
  ++inlined_;
}

void Engine::hand_over(Storage& storage, const Shape& shape, const void* values, std::size_t size_bytes,
                       Location where) {
  InOperation::forbid("a queueing call");
  std::unique_lock lock(front_end_);
  if (is_dry_run()) return dry_run_.count_data(storage, shape, where);
  DeviceState& device = *storage.device;
  for (;;) {
    // Read before the question: refused, this one was queued, so that f gets past it; later f may be at the queue's
    // end.
    const std::atomic<std::uint64_t>& order = *device.oldest;
    const std::uint64_t oldest = order.load(std::memory_order_seq_cst);
    note_level(device);
    if (device.admission->admit(next_on(device), storage.size_bytes, order)) break;
    lock.unlock();
    // Each step of f lets this try again.
    wait_until({.number = oldest + 1, .all = true, .oldest = &order}, UINT64_MAX);
    lock.lock();
  }
  try {
    take_memory_of(storage, next_on(device));
  } catch (const std::bad_alloc&) {
    throw_error("from", fmt::format("out of memory: {} bytes asked for", storage.size_bytes));
  }
  storage.has_value = true;
  lock.unlock();
  if (size_bytes > 0) std::memcpy(storage.data, values, size_bytes);
}

}  // namespace asyncgrad::detail
