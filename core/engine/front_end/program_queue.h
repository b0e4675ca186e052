// The operations that the program has queued, in its order. Internal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "asyncgrad/core/engine.h"
#include "asyncgrad/core/engine/front_end/at_call.h"
#include "asyncgrad/core/engine/front_end/dependencies.h"
#include "asyncgrad/core/engine/front_end/dry_run.h"
#include "asyncgrad/core/engine/front_end/staged_operations.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/sync/spin_lock.h"

namespace asyncgrad::detail {

// Threads of an executor that have to be woken, after the lock has been released.
struct Wakeup {
  Executor* executor = nullptr;
  int threads = 0;

  void send() const {
    if (threads > 0) executor->workers().notify(threads);
  }
};

// Gives operations their numbers, finds their predecessors and offers them to executors. It decides how a submitted
// operation runs: it is counted (a dry run), computed at its call, or queued.
//
// Thread safety: any thread may call next_number(), is_dry_run() and the functions that exclude lock(). All other
// functions require the lock. Other files call it the front end's lock. It is held for a short time, never while its
// holder waits, and workers only try to take it.
//
// Invariants, whenever the lock is free:
// 1. Numbers below next_number() are those of the operations queued so far, without gaps. Their order is the order of
//    the calls that took the lock.
// 2. The entries of operations from dependencies' oldest_seen() on are those of their numbers: a slot is used again
//    only after f has passed the operation that used it before, see has_room().
// 3. Every queued operation is finished, or was offered to its executor, or is staged. Workers that are
//    about to sleep and threads that wait offer what is staged, so that nothing stays staged while a thread waits.
class ProgramQueue final : public StagingArea {
 public:
  // `options` are those in force; they change only while nothing is queued, under lock().
  ProgramQueue(Ring& ring, Failures& failures, Waiters& waiters, const RunState& run_state, Executors& executors,
               const EngineOptions& options)
      : context_{ring, failures, waiters, run_state, executors, *this}, options_(options), dry_run_(failures) {}

  const ExecutorContext& context() const { return context_; }
  SpinLock& lock() ASYNCGRAD_RETURN_CAPABILITY(lock_) { return lock_; }
  std::uint64_t next_number() const { return next_.load(std::memory_order_relaxed); }
  // Relaxed: it changes only while nothing is queued, and a thread that waits meanwhile has nothing to wait for.
  bool is_dry_run() const { return is_dry_run_.load(std::memory_order_relaxed); }

  // --- Submitting. ---
  enum class Outcome : std::uint8_t {
    done,           // computed, counted or queued
    full,           // there is no room in the queue
    stand_back,     // a thread waits for an idle engine, and goes first
    catch_up,       // a few tiny operations are to be computed first
    needs_threads,  // the executor's threads have not started
  };
  // One for the executor of operations that were offered before this one, and one for the operation's own executor.
  struct Wakeups {
    Wakeup earlier, own;

    bool are_needed() const { return earlier.threads > 0 || own.threads > 0; }
    void send() const {
      earlier.send();
      own.send();
    }
  };
  // It says what the thread that tries may do.
  struct Manners {
    bool may_catch_up;  // else the operation is queued behind those that are unfinished
    bool may_pass;      // threads that wait for an idle engine
  };
  // Throws with nothing changed. The caller sends the wakeups after it has released the lock, whatever the outcome; if
  // there are any it visits the executors before that.
  Outcome try_submit(const Route& route, const Submission& submission, Manners manners, Wakeups& wakeups)
      ASYNCGRAD_REQUIRES(lock_);
  // After Outcome::full: once everything older than this is finished, an eighth of the queue is free, so that a stream
  // of tiny operations does not wait for every single place.
  std::uint64_t number_with_room() const ASYNCGRAD_REQUIRES(lock_);
  bool is_immediate() const ASYNCGRAD_REQUIRES(lock_) { return options_.schedule == Schedule::immediate; }
  DryRun& dry_run() ASYNCGRAD_REQUIRES(lock_) { return dry_run_; }

  // --- Offering. ---
  // Offers the staged operations, so that they can be computed. Waiting does so, too, and so does queueing once they
  // are many: call it before you poll whether operations are finished. Does not wake the workers of `computed_for`,
  // because the calling thread is about to compute for it.
  void offer_staged(const Executor* computed_for = nullptr) ASYNCGRAD_EXCLUDES(lock_);
  bool try_to_offer_staged(const Executor& executor) override ASYNCGRAD_EXCLUDES(lock_);
  // Offers them unless another thread has the lock: for a thread that asks again, and must not wait. It may be called
  // inside an operation, whose thread may have the lock itself.
  void try_to_offer_staged() ASYNCGRAD_EXCLUDES(lock_);

  // --- Waiting. ---
  // Lets executors prefer operation `number`, which is not staged, and what it depends on, until end_preference().
  // Returns false, and nothing is to be ended, where that would not help: the operation is the oldest one or finished,
  // or it depends on much of what is queued, or the lock is not free.
  bool begin_preference(std::uint64_t number) ASYNCGRAD_EXCLUDES(lock_);
  void end_preference() { context_.ring.awaited().end(); }

  // --- Threads that wait for an idle engine. ---
  // Counts the calling thread as one for as long as it lives, see lock_when_idle(). Others stand back meanwhile before
  // they queue, or it might wait for ever.
  class IdleWanted;
  // How long a thread stands back: in microseconds; 0 if no thread wants it, or the calling thread itself does.
  std::int64_t patience_us() const ASYNCGRAD_REQUIRES(lock_);
  bool is_idle_wanted() const { return idle_wanted_.load(std::memory_order_relaxed) > 0; }
  // Called in the child of a fork, in which no other thread waits.
  void forget_threads();

  // --- Figures. ---
  std::int64_t at_call_count() const ASYNCGRAD_REQUIRES(lock_) { return at_call_.count(); }
  std::int64_t edge_bytes() const ASYNCGRAD_REQUIRES(lock_) { return dependencies_.edge_bytes(); }
  std::int64_t peak_queued() const ASYNCGRAD_REQUIRES(lock_) { return peak_queued_; }
  void set_peak_queued(std::int64_t count) ASYNCGRAD_REQUIRES(lock_) { peak_queued_ = count; }

  // --- Set-up, while nothing is queued. ---
  // Applies the options as they are now. `has_new_entries`: the entries of the ring are new.
  void set_up(bool has_new_entries) ASYNCGRAD_REQUIRES(lock_);
  // Starts to count for the devices, if the options ask for a dry run.
  void begin_dry_run(std::span<DeviceState* const> devices) ASYNCGRAD_REQUIRES(lock_);

 private:
  bool has_few_unfinished() ASYNCGRAD_REQUIRES(lock_);
  bool has_room(const Submission& submission) ASYNCGRAD_REQUIRES(lock_);
  void queue(const Route& route, const Submission& submission, Wakeups& wakeups) ASYNCGRAD_REQUIRES(lock_);
  Wakeup offer() ASYNCGRAD_REQUIRES(lock_);

  const ExecutorContext context_;
  const EngineOptions& options_;

  alignas(128) SpinLock lock_;
  std::atomic<std::uint64_t> next_{1};  // the number of the next operation; written under the lock, relaxed
  // Whether anything is staged: a hint for workers, relaxed, so that they need not take the lock for nothing.
  std::atomic<bool> has_staged_{false};
  std::atomic<bool> is_dry_run_{false};  // written under the lock while the engine is idle; relaxed
  // How many threads want the engine idle, and how many operations were queued meanwhile. Relaxed: hints, which let an
  // operation wait or pass, and which the lock makes visible to the next thread that queues.
  std::atomic<int> idle_wanted_{0}, passes_{0};
  Dependencies dependencies_ ASYNCGRAD_GUARDED_BY(lock_){context_.ring};
  AtCall at_call_ ASYNCGRAD_GUARDED_BY(lock_){context_, dependencies_};
  StagedOperations staged_ ASYNCGRAD_GUARDED_BY(lock_);
  DryRun dry_run_ ASYNCGRAD_GUARDED_BY(lock_);
  std::uint64_t last_large_ ASYNCGRAD_GUARDED_BY(lock_) = 0;  // the youngest operation that is not tiny
  std::int64_t peak_queued_ ASYNCGRAD_GUARDED_BY(lock_) = 0;
};

class ProgramQueue::IdleWanted {
 public:
  explicit IdleWanted(ProgramQueue& queue) : queue_(queue) {
    if (queue_.idle_wanted_.fetch_add(1, std::memory_order_relaxed) == 0) {
      queue_.passes_.store(0, std::memory_order_relaxed);
    }
    ++here;
  }
  IdleWanted(const IdleWanted&) = delete;
  IdleWanted& operator=(const IdleWanted&) = delete;
  ~IdleWanted() {
    --here;
    queue_.idle_wanted_.fetch_sub(1, std::memory_order_relaxed);
  }
  // How often the calling thread waits: a hook of its wait may queue, and may fork.
  static int count_here() { return here; }

 private:
  static inline constinit thread_local int here = 0;
  ProgramQueue& queue_;
};

inline void ProgramQueue::forget_threads() { idle_wanted_.store(IdleWanted::count_here(), std::memory_order_relaxed); }

// Inlined into FrontEnd::submit(), because every operation that is computed at its call passes here.
inline ProgramQueue::Outcome ProgramQueue::try_submit(const Route& route, const Submission& submission, Manners manners,
                                                      Wakeups& wakeups) {
  if (is_dry_run()) {
    dry_run_.count_operation(submission);
    return Outcome::done;
  }
  if (options_.inline_tiny) {
    const AtCall::Outcome outcome = at_call_.run(route, submission, next_.load(std::memory_order_relaxed));
    if (outcome == AtCall::Outcome::computed) return Outcome::done;
    if (outcome == AtCall::Outcome::unfinished && manners.may_catch_up && has_few_unfinished()) {
      wakeups.earlier = offer();
      return Outcome::catch_up;
    }
  }
  if (!route.executor.workers().has_started()) return Outcome::needs_threads;
  if (is_idle_wanted()) {
    if (!manners.may_pass) return Outcome::stand_back;
    passes_.fetch_add(1, std::memory_order_relaxed);
  }
  if (!has_room(submission)) return Outcome::full;
  queue(route, submission, wakeups);
  return Outcome::done;
}

}  // namespace asyncgrad::detail
