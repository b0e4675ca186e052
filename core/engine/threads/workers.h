// The threads that compute for one executor: workers, and threads that wait. Internal.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "asyncgrad/core/engine/ring/ring.h"
#include "asyncgrad/core/engine/threads/seats.h"
#include "asyncgrad/core/engine/threads/sleep.h"
#include "asyncgrad/core/engine/threads/waiters.h"
#include "asyncgrad/core/sync/mutex.h"

namespace asyncgrad::detail {

// The state that a thread keeps from one piece of work to the next.
struct Turn {
  std::uint64_t limit = UINT64_MAX;  // it runs operations numbered up to here
  std::uint64_t next = 0;            // ready, and not offered to others: what it runs next. 0: nothing
  bool was_long = false;             // the last operation that it ran
  int awaited_in_row = 0;            // see CpuExecutor::run_awaited()
  bool goes_on = true;               // it looks for more after what it runs now
};

// The interface of an executor to its threads.
class Work {
 public:
  virtual ~Work() = default;
  // Runs one operation or tile. False if there is nothing to run now.
  virtual bool run_one(Turn& turn) = 0;
  // Does the same for brief operations that threads wait for, and no others.
  virtual bool run_brief_awaited(Turn& /*turn*/) { return false; }
  // Runs a tile of an operation that has several and runs no function of the program. It may begin the operation.
  virtual bool run_one_tile(Turn& /*turn*/) { return false; }
  // Called when the thread leaves: offers `turn.next` to others.
  virtual void put_back(Turn& turn) = 0;
  // Called when the calling thread was woken: prefetches the cache lines that it reads first, all at once.
  virtual void prefetch() const {}
  virtual bool has_ready() const = 0;  // something may be ready to run; a hint
  // Called when the calling worker is about to sleep: offers staged operations. True if it may find work now.
  virtual bool offer_staged() = 0;
  // Prepares the calling thread for kernels; undoes it.
  virtual std::uint64_t enter_thread() = 0;
  virtual void leave_thread(std::uint64_t previous) = 0;
};

// At most `workers` threads compute at once, each on a seat: workers, or threads that wait for a goal and compute
// meanwhile. One thread more that waits and finds no seat may compute what is awaited and brief: it would otherwise
// wait for the end of a long tile. A thread without work spins for some 50 us, giving its core away now and then, and
// sleeps afterwards. docs/engine.md says why no wake-up is lost and why every wait ends.
//
// Thread safety: notify() and help() by any thread at any time; configure(), stop() and forget_threads() by one thread
// while nothing is queued.
class Workers {
 public:
  Workers(Work& work, const Ring& ring, Waiters& waiters) : work_(work), ring_(ring), waiters_(waiters) {}
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() { stop(); }

  // `may_spin`: each thread has a core. `name` is what profiles and reports call the threads, with a number if there
  // are several.
  void configure(int workers, bool may_spin, const std::string& name);
  // Starts the threads unless they run. Called before an operation is queued for them. Throws Error if the system
  // starts none; fewer threads than wanted are enough.
  void ensure_started() {
    if (!has_started()) start_threads();
  }
  bool has_started() const { return started_.load(std::memory_order_acquire); }  // acquire: what it filled is seen
  // Lets started operations and tiles finish, and ends the threads. They start again when they are needed.
  void stop();

  // Wakes up to `count` threads, for which there is work.
  void notify(int count) { sleep_.wake(static_cast<std::uint32_t>(count)); }
  // Returns when `goal` is reached; computes meanwhile, operations numbered up to `limit`. Holds no lock.
  void help(const Goal& goal, std::uint64_t limit);
  // Does as help() does, but gives up when there is nothing to compute for a microsecond or so.
  void compute_briefly(const Goal& goal, std::uint64_t limit);
  // Computes brief operations that threads wait for, until none is ready or `goal` is reached. Holds no lock.
  void compute_awaited(const Goal& goal);
  // Computes one tile of an operation that has several, if there is a seat. False if there was none. Holds no lock.
  bool compute_tile(const Goal& goal, std::uint64_t limit);
  // Called when a tiny operation became ready. True if no thread need be woken, because a thread that computes will
  // look for it.
  bool leave_to_computing_thread() { return seats_.leave(); }
  // Called when several tiny operations became ready and one thread is about to be notified.
  void leave_rest() { seats_.leave_rest(); }
  // Called around work that takes longer than waking a thread.
  void begin_long() {
    if (seats_.begin_long() && work_.has_ready()) notify(1);
  }
  void end_long() { seats_.end_long(); }

  // Whether a thread other than the caller, which has a seat, computes.
  bool others_compute() const { return seats_.taken() > 1; }
  // Whether the calling thread computes, for any executor. A signal handler that interrupted it may ask.
  static bool compute_here();
  int others() const { return seats_.taken() - (is_seated_here() ? 1 : 0); }  // threads that compute but this one
  bool is_idle() const { return others() == 0; }

  // Called around a fork: no thread starts in between.
  void hold_still() ASYNCGRAD_ACQUIRE(threads_mutex_) { threads_mutex_.lock(); }
  void let_go_on() ASYNCGRAD_RELEASE(threads_mutex_) { threads_mutex_.unlock(); }
  // Called in the child of a fork, in which there are no workers.
  void forget_threads();

 private:
  // A thread for as long as it computes or looks for work.
  struct Member {
    const Goal* goal = nullptr;        // of a thread that waits; null: a worker
    std::uint64_t limit = UINT64_MAX;  // it runs operations numbered up to here
  };
  struct Worker {
    std::string name;
    std::thread thread;
  };

  void start_threads();
  void run_worker(const Worker& worker);
  void participate(const Member& member);
  bool compute(const Member& member);
  bool compute_brief(const Member& member);
  template <class Run>
  bool compute_seated(const Member& member, bool extra, const Run& run);
  void rest(const Member& member);
  bool spin(const Member& member);
  bool is_over(const Member& member) const {
    // Relaxed: stop() joins the workers.
    if (member.goal == nullptr) return stopping_.load(std::memory_order_relaxed);
    return waiters_.is_over(*member.goal);
  }
  bool take_seat() { return seats_.take() || (work_.has_ready() && seats_.take_or_be_denied()); }
  bool is_seated_here() const;

  Work& work_;
  const Ring& ring_;
  Waiters& waiters_;
  int workers_ = 0;
  bool may_spin_ = false;
  std::string name_;
  Mutex threads_mutex_;
  std::vector<std::unique_ptr<Worker>> threads_ ASYNCGRAD_GUARDED_BY(threads_mutex_);
  std::atomic<bool> started_{false};   // release after threads_ is filled
  std::atomic<bool> stopping_{false};  // relaxed in loops; the workers are joined afterwards
  Sleep sleep_;
  Seats seats_;
};

}  // namespace asyncgrad::detail
