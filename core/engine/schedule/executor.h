// Where operations run. Internal.
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
#include "asyncgrad/core/engine/threads/waiters.h"
#include "asyncgrad/core/engine/threads/workers.h"

namespace asyncgrad::detail {

class Executor;
class Executors;

// Holds operations that were queued and that no executor has been told of yet: the front end.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  // Called by a worker of `executor` that is about to sleep. True if it was offered something.
  virtual bool try_to_offer_batch(const Executor& executor) = 0;
};

// What executors share with each other and with the front end.
struct ExecutorContext {
  Ring& ring;
  Failures& failures;
  Waiters& waiters;
  const RunState& run_state;
  Executors& executors;
  BatchSource& batches;
};

// Takes operations that wait for nothing any more and runs them, the oldest first, as far as memory allows. A
// CpuExecutor computes them on its threads; a Launcher issues them to the queues of an asynchronous device.
//
// Thread safety: any thread may call any function at any time.
class Executor : public Work {
 public:
  // Runs the operations of `device`, or copies to it. `by_arrival`: what became ready first runs first.
  Executor(const ExecutorContext& context, DeviceState& device, bool by_arrival);

  DeviceState& device() const { return device_; }
  // True if an operation that has been issued is not yet complete.
  bool is_asynchronous() const { return device_.is_asynchronous; }
  // Tiny operations need not come here: the thread that calls them computes them, if nothing is in their way.
  virtual bool may_compute_at_call() const { return !is_asynchronous(); }
  // Tiny operations may be kept back for a while, to be offered together.
  bool takes_batches() const { return !is_asynchronous() && is_in_order_; }
  Workers& workers() { return workers_; }

  // An operation of this executor, blocked so far, may run. Tells no thread.
  void make_ready(Operation& operation);
  // The same for `first` + i where bit i is set.
  void make_ready(std::uint64_t first, std::uint64_t operations);
  // Some operation that was refused may be admitted now.
  void retry_refused() {
    if (refused_.load(std::memory_order_seq_cst) && refused_.exchange(false, std::memory_order_seq_cst)) {
      workers_.notify(1);
    }
  }

  // Work.
  bool offer_batch() override { return context_.batches.try_to_offer_batch(*this); }
  bool has_ready() const override { return ready_->any(); }
  void put_back(Turn& turn) override;
  void prefetch() const override;
  std::uint64_t enter_thread() override { return detail::enter_thread(*device_.backend); }
  void leave_thread(std::uint64_t previous) override { detail::leave_thread(*device_.backend, previous); }

 protected:
  enum class Outcome : std::uint8_t { ran, refused, gone };

  // The functions from here to make_ready_again() are for a thread that has claimed the operation.
  //
  // Whether it may take its memory now, with so many bytes `held` beside what admission knows of. Asks once more after
  // it has said that it is refused, as f may have come to it, or memory returned, before anybody could read that.
  bool admit(const Operation& operation, std::int64_t held = 0);
  // Takes the memory. If there is none, the oldest operation waits while others compute, which may return some, and
  // then throws std::bad_alloc. Any other one is put back, and false returned: it is tried again when an older one has
  // ended. So is the oldest if this thread has something in flight that `can_return` memory.
  bool take_or_park(Operation& operation, bool can_return);
  // What it takes. Throws std::bad_alloc with no result's memory taken.
  virtual void take(const Operation& operation);
  // Sets it ready after a refusal, where it is found.
  void make_ready_again(Operation& operation);

  // The operation has ended. `started`: its kernel may have written.
  void complete(Operation& operation, Failure* failure, bool started, Turn& turn);
  // The same where values are settled and operands released.
  void finish(Operation& operation, bool has_failed, Turn& turn);
  // Closes a list of successors. Returns how many became ready for other threads of this executor, which were not told.
  int release(std::atomic<Edge*>& successors, Turn& turn);
  // Makes a failure, which the caller has a share of, of the exception that is being handled.
  Failure* fail(const Operation& operation);

  const ExecutorContext context_;
  DeviceState& device_;
  const bool is_in_order_;
  const std::unique_ptr<Ready> ready_;

 private:
  static bool is_oldest_of_device(const Operation& operation);
  void make_ready_again(Operation& operation, const std::atomic<std::uint64_t>& oldest, std::uint64_t place);
  void note_refused();

  std::atomic<bool> refused_{false};  // an operation was refused; sequentially consistent with f
  Workers workers_;
};

inline Executor& executor_of(const Operation& operation) { return *operation.executor.load(std::memory_order_relaxed); }

}  // namespace asyncgrad::detail
