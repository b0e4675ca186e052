// Executors, which run operations. Internal.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "asyncgrad/core/engine/admission/device_state.h"
#include "asyncgrad/core/engine/ring/operation.h"
#include "asyncgrad/core/engine/ring/ring.h"
#include "asyncgrad/core/engine/run/failure.h"
#include "asyncgrad/core/engine/run/run_state.h"
#include "asyncgrad/core/engine/schedule/ready.h"
#include "asyncgrad/core/engine/schedule/refusals.h"
#include "asyncgrad/core/engine/threads/waiters.h"
#include "asyncgrad/core/engine/threads/workers.h"

namespace asyncgrad::detail {

class Executor;
class Executors;

// The place of operations that were queued and not yet offered to an executor: the front end.
class StagingArea {
 public:
  virtual ~StagingArea() = default;
  // A worker of `executor` calls it before it sleeps. True if operations were offered to this executor, or may be soon.
  virtual bool try_to_offer_staged(const Executor& executor) = 0;
};

// The parts that executors and the front end share.
struct ExecutorContext {
  Ring& ring;
  Failures& failures;
  Waiters& waiters;
  const RunState& run_state;
  Executors& executors;
  StagingArea& staging;
};

// Runs the operations that wait for nothing any more, the oldest first, as far as memory allows. A CpuExecutor computes
// them on its threads; a Launcher issues them to the queues of an asynchronous device.
//
// Thread safety: any thread may call any function at any time.
class Executor : public Work {
 public:
  // Runs the operations of `device`, or copies to it. `by_arrival`: what became ready first runs first.
  Executor(const ExecutorContext& context, DeviceState& device, bool by_arrival);

  DeviceState& device() const { return device_; }
  // True if an operation that has been issued is not yet complete.
  bool is_asynchronous() const { return device_.is_asynchronous; }
  // Whether the thread that calls a tiny operation computes it itself, if the operation would wait for nothing.
  virtual bool may_compute_at_call() const { return !is_asynchronous(); }
  // Tiny operations may stay staged for a while, to be offered together.
  bool may_be_staged() const { return !is_asynchronous() && is_in_order_; }
  Workers& workers() { return workers_; }

  // Makes a blocked operation of this executor ready. Wakes no thread.
  void make_ready(Operation& operation);
  // The same for `first` + i where bit i is set.
  void make_ready(std::uint64_t first, std::uint64_t operations);
  // Calls a thread if an operation that was refused may be admitted now. True if some are still refused.
  bool retry_refused();

  // Work.
  bool offer_staged() override { return context_.staging.try_to_offer_staged(*this); }
  bool has_ready() const override { return ready_->any(); }
  void put_back(Turn& turn) override;
  void prefetch() const override;
  std::uint64_t enter_thread() override { return detail::enter_thread(*device_.backend); }
  void leave_thread(std::uint64_t previous) override { detail::leave_thread(*device_.backend, previous); }

 protected:
  enum class Outcome : std::uint8_t { ran, refused, gone };

  // --- The functions down to make_ready_again() are for a thread that has claimed the operation. ---
  //
  // Whether the operation may take its memory now. `held`: bytes that are live and that admission does not count. After
  // a refusal it sets the mark and asks once more, because f may have reached the operation, or memory may have been
  // returned, before other threads could read the mark.
  bool admit(const Operation& operation, std::int64_t held = 0);
  // Takes the memory. If the system has none, the oldest operation waits while others compute, which may return some,
  // and then throws std::bad_alloc. Any other operation is put back, and this returns false: it is tried again when an
  // older one has ended. The oldest one is put back, too, if `can_return`: this thread has operations in flight that
  // may return memory.
  bool take_or_park(Operation& operation, bool can_return);
  // Takes the memory of an operation. Throws std::bad_alloc with no result's memory taken.
  virtual void take(const Operation& operation);
  // Makes the operation ready again after a refusal, so that threads find it.
  void make_ready_again(Operation& operation);

  // The operation has ended. `started`: its kernel may have written.
  void complete(Operation& operation, Failure* failure, bool started, Turn& turn);
  // Does the same for an operation whose outputs are valid or poisoned and whose operands are released.
  void finish(Operation& operation, bool has_failed, Turn& turn);
  // Closes a list of successors. Returns how many became ready for other threads of this executor, which the caller has
  // to wake.
  int release(std::atomic<Edge*>& successors, Turn& turn);
  // Makes a failure of the exception that is being handled. The caller has a share of it.
  Failure* fail(const Operation& operation);

  const ExecutorContext context_;
  DeviceState& device_;
  const bool is_in_order_;
  const std::unique_ptr<Ready> ready_;

 private:
  static bool is_oldest_of_device(const Operation& operation);
  void make_ready_again(Operation& operation, const std::atomic<std::uint64_t>& oldest, std::uint64_t place);

  Refusals refusals_;
  Workers workers_;
};

inline Executor& executor_of(const Operation& operation) { return *operation.executor.load(std::memory_order_relaxed); }

}  // namespace asyncgrad::detail
