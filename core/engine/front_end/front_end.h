// Where the program's threads come in: they queue operations, hand data over and wait. Internal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "asyncgrad/core/engine.h"
#include "asyncgrad/core/engine/front_end/at_call.h"
#include "asyncgrad/core/engine/front_end/batch.h"
#include "asyncgrad/core/engine/front_end/dependencies.h"
#include "asyncgrad/core/engine/front_end/dry_run.h"
#include "asyncgrad/core/engine/ring/pending.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/sync/spin_lock.h"
#include "asyncgrad/core/wait_hooks.h"

namespace asyncgrad::detail {

// Gives operations their numbers, finds out what they wait for, and hands them to executors.
//
// Thread safety: any thread may call any function, but those that say so. All front ends share one short lock, which
// workers only try to take and nobody holds while waiting; it orders the numbers, dependencies and serial levels.
class FrontEnd final : public BatchSource {
 public:
  // `options`: those in force; they change only while nothing is queued and no other thread calls.
  FrontEnd(Ring& ring, Failures& failures, Waiters& waiters, const RunState& run_state, Executors& executors,
           const EngineOptions& options)
      : context_{ring, failures, waiters, run_state, executors, *this}, options_(options), dry_run_(failures) {}

  const ExecutorContext& context() const { return context_; }

  // See submit.h.
  void submit(const Submission& submission);
  // Copies the user's values into a storage that nothing has written. May wait for room in memory.
  void hand_over(Storage& storage, const Shape& shape, const void* values, std::size_t size_bytes, Location where);

  // Waits for the last write to `storage` queued so far; throws the cause if its value is poisoned.
  void wait(Storage& storage);
  // Waits until the goal is reached, and computes operations numbered up to `limit` meanwhile.
  void wait_until(const Goal& goal, std::uint64_t limit);
  // Lets the operations of the batch be computed. Waiting does so too, and queueing once there are more: call it before
  // asking again and again whether they are finished.
  // The workers of `computed_for` are not told: the calling thread is about to compute for it.
  void offer_batch(const Executor* computed_for = nullptr) ASYNCGRAD_EXCLUDES(lock_);
  bool try_to_offer_batch(const Executor& executor) override ASYNCGRAD_EXCLUDES(lock_);

  std::uint64_t next_number() const { return next_.load(std::memory_order_relaxed); }
  // Relaxed: it changes only while nothing is queued, and a thread that waits meanwhile has nothing to wait for.
  bool is_dry_run() const { return is_dry_run_.load(std::memory_order_relaxed); }

  // --- Figures. Each throws Error inside an operation, whose thread may hold the lock. ---
  EngineFigures figures() ASYNCGRAD_EXCLUDES(lock_);
  void reset_peaks(DeviceState& device) ASYNCGRAD_EXCLUDES(lock_);
  DryRunReport dry_run_report(const DeviceState& device) ASYNCGRAD_EXCLUDES(lock_);
  // What is unfinished, in program order; some of it may be finished by the time of the answer.
  std::vector<PendingOperation> pending() ASYNCGRAD_EXCLUDES(lock_);
  // The same for reports: nothing if the lock cannot be had within some milliseconds.
  std::optional<std::vector<PendingOperation>> try_pending(std::size_t most);

  // What has failed may have asked for more memory than there is, and would leave the automatic budget too wide: from
  // here on it goes by what is live. Does nothing if something is queued.
  void forget_levels(std::span<DeviceState* const> devices) ASYNCGRAD_EXCLUDES(lock_);

  // --- For set-up and forks. ---
  // Waits until everything is finished and no thread is in a record any more, with the lock held, which keeps it so.
  void lock_when_idle() ASYNCGRAD_ACQUIRE(lock_);
  void unlock() ASYNCGRAD_RELEASE(lock_) { lock_.unlock(); }
  class Idle;  // holds it for as long as a scope lasts
  // Goes by the options as they are now. `has_new_records`: the ring has been made again.
  void set_up(bool has_new_records) ASYNCGRAD_REQUIRES(lock_);
  // Starts to count for the devices, if the options ask for a dry run.
  void begin_dry_run(std::span<DeviceState* const> devices) ASYNCGRAD_REQUIRES(lock_);

 private:
  enum class Outcome : std::uint8_t {
    done,           // computed, counted or queued
    full,           // there is no room in the queue
    catch_up,       // a few tiny operations are to be computed first
    needs_threads,  // the executor's threads have not started
  };
  // An executor whose threads have to be told of work, outside of the lock.
  struct News {
    Executor* executor = nullptr;
    int count = 0;

    void tell() const {
      if (count > 0) executor->workers().notify(count);
    }
  };
  struct AllNews {
    News earlier, own;
  };

  Outcome try_submit(const Route& route, const Submission& submission, bool may_catch_up, AllNews& news)
      ASYNCGRAD_REQUIRES(lock_);
  void finish(std::span<const OperandRef> operands);
  bool has_few_unfinished() ASYNCGRAD_REQUIRES(lock_);
  void catch_up(Executor& executor);
  bool has_room(const Submission& submission) ASYNCGRAD_REQUIRES(lock_);
  void queue(const Route& route, const Submission& submission, AllNews& news) ASYNCGRAD_REQUIRES(lock_);
  News offer_locked() ASYNCGRAD_REQUIRES(lock_);
  Executor& executor_to_help(const Goal& goal) ASYNCGRAD_EXCLUDES(lock_);
  void help_workers(const Goal& goal, std::uint64_t limit);
  void wait_for_workers(const Goal& goal, const WaitHooks& hooks);

  const ExecutorContext context_;
  const EngineOptions& options_;

  alignas(128) SpinLock lock_;
  std::atomic<std::uint64_t> next_{1};  // the number of the next operation; written under the lock, relaxed
  // Whether something is in the batch: a hint for workers, relaxed, so that they need not take the lock for nothing.
  std::atomic<bool> has_batch_{false};
  std::atomic<bool> is_dry_run_{false};
  Dependencies dependencies_ ASYNCGRAD_GUARDED_BY(lock_){context_.ring};
  AtCall at_call_ ASYNCGRAD_GUARDED_BY(lock_){context_, dependencies_};
  Batch batch_ ASYNCGRAD_GUARDED_BY(lock_);
  DryRun dry_run_ ASYNCGRAD_GUARDED_BY(lock_);
  std::uint64_t last_large_ ASYNCGRAD_GUARDED_BY(lock_) = 0;  // the youngest operation that is not tiny
  std::int64_t peak_queued_ ASYNCGRAD_GUARDED_BY(lock_) = 0;
};

class ASYNCGRAD_SCOPED_CAPABILITY FrontEnd::Idle {
 public:
  explicit Idle(FrontEnd& front_end) ASYNCGRAD_ACQUIRE(front_end.lock_) : front_end_(front_end) {
    front_end_.lock_when_idle();
  }
  Idle(const Idle&) = delete;
  Idle& operator=(const Idle&) = delete;
  ~Idle() ASYNCGRAD_RELEASE() { front_end_.unlock(); }

 private:
  FrontEnd& front_end_;
};

}  // namespace asyncgrad::detail
