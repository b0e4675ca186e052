// Who computes: the workers, and threads that wait. Internal.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "asyncgrad/core/engine/threads/waiters.h"
#include "asyncgrad/core/sync/spin_lock.h"

namespace asyncgrad::detail {

// What a thread that computes keeps from one piece of work to the next.
struct Turn {
  std::uint64_t limit = UINT64_MAX;  // it runs operations numbered up to here
  // Those that it has set aside, for itself or for put_back: ready, what it will come to next, and where others do not
  // look. From `own` up to, not with, `own_end`.
  std::uint64_t own = 0, own_end = 0;
  std::uint64_t first = 0;  // f at its last search

  bool has_own() const { return own != own_end; }
};

// What a crew works on: a stream.
class Work {
 public:
  virtual ~Work() = default;
  // Runs one operation or tile. False if there is nothing to run now.
  virtual bool run_one(Turn& turn) = 0;
  virtual void put_back(Turn& turn) = 0;
  // The calling thread was told of work: fetches the lines that it will look at first, all at once.
  virtual void prefetch() const {}
  virtual bool has_ready() const = 0;  // something may be ready to run; a hint
  // The calling worker is about to sleep. True if there was something, or may be, that nobody was offered yet.
  virtual bool offer_held() = 0;
  virtual bool reached(const Goal& goal) const = 0;
  // Prepares the calling thread for kernels; undoes it.
  virtual std::uint64_t enter_thread() = 0;
  virtual void leave_thread(std::uint64_t previous) = 0;
};

// The workers, the seats on which threads compute, and the threads that wait.
//
// At most `workers` threads compute at once, each on a seat: workers, or threads that wait for a goal and compute
// meanwhile. A thread without work spins for some 50 us, waiting for a call and letting others have its core, then
// sleeps in its bed.
//
// Thread safety: notify and help by any thread at any time; start and stop by one at a time.
//
// Why no wake-up is missed. Whoever makes work visible then looks at `idle_`; whoever finds no work raises `idle_`,
// reads `signal_` and looks again before it sleeps, and sleeps only while its number is what it read. Both are
// store-then-load and sequentially consistent, so one sees the other. A thread that found work but no seat sets
// `denied_` before it tries once more, and whoever gives up a seat looks at `denied_` after; a waiting thread that
// leaves work behind (it is younger than its goal) notifies for it. Why a wait ends. The oldest unfinished operation is
// ready, as whoever waits has first offered what was held, and always admitted; a thread is computing and will come to
// it, or was told of it as above; what it has set aside it comes to, or puts it back before it begins something long or
// leaves its seat. It finishes, and the one after it is the oldest, until the goal is reached; and the thread that
// finishes an operation looks for waiting threads after that, as above. What is left to a computing thread is found:
// that thread looks again after the short work that it does, or tells others of it when it begins something long
// (`left_`, in the same order as `denied_`) or leaves its seat.
class Crew {
 public:
  // `waiters`: where those of its threads that wait for a goal are found when they sleep.
  Crew(Work& work, Waiters& waiters) : work_(work), waiters_(waiters) {}

  // The threads themselves start at the first notify(). `may_spin`: there is a core for each. `name`: what profiles
  // call them, with a number if there are several.
  void start(int workers, bool may_spin, std::string name);
  // Lets started operations and tiles finish, then ends the workers. Those of other crews may still call notify() until
  // clear(), after which it may be started anew.
  void stop();
  void clear();
  int workers() const { return workers_; }
  // Somebody has a seat beside the calling thread, which has one.
  bool others_compute() const { return workers_ - seats_.load(std::memory_order_seq_cst) > 1; }
  // The same of short work.
  bool others_compute_briefly() const { return computing_briefly() > 1; }
  bool is_idle() const { return seats_.load(std::memory_order_seq_cst) == workers_; }  // nobody computes

  // There is work for `count` more threads than those that already know of it.
  void notify(int count);
  // Work became ready that takes less time than it takes to wake a thread. True if nobody need be told: a thread is
  // computing something short and looks for more when it is done.
  bool leave_to_computing_thread() { return leave_to(1); }
  // The same, said by one that computes itself: true if there is another.
  bool leave_to_other() { return leave_to(2); }
  // Around work that takes longer.
  void begin_long();
  void end_long() { in_long_.fetch_sub(1, std::memory_order_seq_cst); }
  // As help(), but gives up when there is nothing to compute for a microsecond or so. True if the goal is reached.
  bool compute_briefly(const Goal& goal, std::uint64_t limit);
  // Returns when `goal` is reached; computes meanwhile, operations numbered up to `limit`. Holds no lock.
  void help(const Goal& goal, std::uint64_t limit);

  // Around a fork: nobody starts threads meanwhile, or the child would inherit a lock without its holder.
  void hold_still() { threads_mutex_.lock(); }
  void let_go_on() { threads_mutex_.unlock(); }
  // In the child of a fork: no worker came along.
  void forget_threads();

 private:
  // A thread for as long as it takes part: a worker (no goal) or a waiting one.
  struct Member {
    const Goal* goal = nullptr;
    std::uint64_t limit = UINT64_MAX;  // it runs operations numbered up to here
    Bed bed{};
  };
  struct Worker {
    Member member;
    std::thread thread;
  };

  void participate(Member& member);
  bool compute(const Member& member);
  bool leave_to(int computing);
  int computing_briefly() const {
    return workers_ - seats_.load(std::memory_order_seq_cst) - in_long_.load(std::memory_order_seq_cst);
  }
  void rest(Member& member);
  bool spin(const Member& member, std::uint32_t seen);
  void sleep(Member& member, std::uint32_t seen);
  bool answer_call();
  std::uint32_t told() const { return static_cast<std::uint32_t>(signal_.load(std::memory_order_seq_cst) >> 32); }
  bool is_over(const Member& member) const;
  bool take_seat();
  void give_seat();
  void start_threads();

  Work& work_;
  Waiters& waiters_;
  int workers_ = 0;
  bool may_spin_ = false;
  std::string name_;
  std::mutex threads_mutex_;  // over threads_ while they start and stop
  std::vector<std::unique_ptr<Worker>> threads_;
  std::atomic<bool> started_{false};   // release after threads_ is filled
  std::atomic<bool> stopping_{false};  // relaxed loads in loops; workers are joined after

  // All of them sequentially consistent: see "why no wake-up is missed". Read by everybody, written when threads run
  // out of work.
  alignas(128) std::atomic<int> idle_{0};
  std::atomic<int> spinning_{0};
  // Above, a number that changes whenever somebody is told of work; below, how many of those that spin are called and
  // have not answered. One word, as each write of one thread takes the line away from the others.
  std::atomic<std::uint64_t> signal_{0};
  alignas(128) std::atomic<int> seats_{0};
  std::atomic<bool> denied_{false};
  std::atomic<int> in_long_{0};  // seats in long work
  std::atomic<bool> left_{false};
};

}  // namespace asyncgrad::detail
