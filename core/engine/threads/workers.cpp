#include "asyncgrad/core/engine/threads/workers.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <system_error>
#include <utility>

#include "asyncgrad/core/error.h"
#include "asyncgrad/core/profile/profile.h"

namespace asyncgrad::detail {

namespace {

constexpr auto spin_time = std::chrono::microseconds(50);
constexpr int most_pauses = 16;   // between two looks: some 0.7 us
constexpr int brief_pauses = 32;  // some 1.5 us
constexpr std::uint64_t one_telling = std::uint64_t{1} << 32;

// Signals are for the program's own threads.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

void Crew::start(int workers, bool may_spin, std::string name) {
  workers_ = workers;
  may_spin_ = may_spin;
  name_ = std::move(name);
  seats_.store(workers, std::memory_order_seq_cst);
  stopping_.store(false, std::memory_order_seq_cst);
}

void Crew::stop() {
  const std::lock_guard lock(threads_mutex_);
  stopping_.store(true, std::memory_order_seq_cst);
  signal_.fetch_add(one_telling, std::memory_order_seq_cst);
  for (const auto& worker : threads_) worker->member.bed.try_wake();
  for (const auto& worker : threads_) {
    if (worker->thread.joinable()) worker->thread.join();
  }
}

void Crew::clear() {
  started_.store(false, std::memory_order_relaxed);
  threads_.clear();
}

void Crew::forget_threads() {
  for (auto& worker : threads_) {
    if (worker->thread.joinable()) worker->thread.detach();
    worker.release();  // NOLINT(bugprone-unused-return-value): its thread does not exist here
  }
  threads_.clear();
  started_.store(false, std::memory_order_relaxed);
  idle_.store(0, std::memory_order_relaxed);
  spinning_.store(0, std::memory_order_relaxed);
  signal_.store(0, std::memory_order_relaxed);
  seats_.store(workers_, std::memory_order_relaxed);
  in_long_.store(0, std::memory_order_relaxed);
}

// Where the lock is held, another thread starts them, and each searches for work when it begins; or they are being
// stopped, or were, or are held still for a fork, with everything finished. A worker that waited here could not be
// joined.
void Crew::start_threads() {
  const std::unique_lock lock(threads_mutex_, std::try_to_lock);
  if (!lock.owns_lock() || started_.load(std::memory_order_relaxed) || stopping_.load(std::memory_order_relaxed))
    return;
  const BlockedSignals blocked;
  for (int i = 0; i < workers_; ++i) threads_.push_back(std::make_unique<Worker>());
  for (int i = 0; i < workers_; ++i) {
    Worker& worker = *threads_[static_cast<std::size_t>(i)];
    try {
      worker.thread = std::thread([this, i, &worker] {
        profile::name_this_thread(workers_ == 1 ? name_ : name_ + " " + std::to_string(i + 1));
        participate(worker.member);
      });
    } catch (const std::system_error& error) {
      if (i > 0) break;  // those that there are do the work
      threads_.clear();
      throw_error("engine", fmt::format("the system gives no thread for '{}': {}", name_, error.what()));
    }
  }
  started_.store(true, std::memory_order_release);
}

void Crew::notify(int count) {
  if (!started_.load(std::memory_order_acquire)) {
    start_threads();
    if (!started_.load(std::memory_order_acquire)) return;
  }
  __builtin_prefetch(&idle_, 1);  // with signal_, which is mostly written next
  if (idle_.load(std::memory_order_seq_cst) == 0) return;
  const int to_spinning = std::min(count, spinning_.load(std::memory_order_seq_cst));
  signal_.fetch_add(one_telling + static_cast<std::uint64_t>(to_spinning), std::memory_order_seq_cst);
  int to_wake = count - to_spinning;
  for (const auto& worker : threads_) {
    if (to_wake <= 0) return;
    if (worker->member.bed.try_wake()) --to_wake;
  }
}

bool Crew::leave_to(int computing) {
  if (computing_briefly() < computing) return false;
  if (!left_.load(std::memory_order_seq_cst)) left_.store(true, std::memory_order_seq_cst);
  return computing_briefly() >= computing;
}

void Crew::begin_long() {
  in_long_.fetch_add(1, std::memory_order_seq_cst);
  if (left_.load(std::memory_order_seq_cst) && left_.exchange(false, std::memory_order_seq_cst)) notify(1);
}

bool Crew::compute_briefly(const Goal& goal, std::uint64_t limit) {
  const Member member{.goal = &goal, .limit = limit};
  for (int i = 0; i < brief_pauses && !work_.reached(goal); ++i) {
    if (!compute(member)) pause_briefly();
  }
  // As help(): what became ready may be younger than the limit.
  if (work_.has_ready()) notify(1);
  return work_.reached(goal);
}

void Crew::help(const Goal& goal, std::uint64_t limit) {
  Member member{.goal = &goal, .limit = limit};
  participate(member);
  if (work_.has_ready()) notify(1);
}

void Crew::participate(Member& member) {
  while (!is_over(member)) {
    if (compute(member)) continue;
    if (member.goal != nullptr && work_.has_ready()) notify(1);
    idle_.fetch_add(1, std::memory_order_seq_cst);
    rest(member);
    idle_.fetch_sub(1, std::memory_order_seq_cst);
  }
}

// Until there may be work. Who spun in vain searches once more, as the calls meanwhile went to others.
void Crew::rest(Member& member) {
  for (bool has_spun = false;;) {
    const std::uint32_t seen = told();
    if (compute(member) || is_over(member)) return;
    if (has_spun) return sleep(member, seen);
    if (spin(member, seen)) return;
    has_spun = true;
  }
}

bool Crew::compute(const Member& member) {
  if (!take_seat()) return false;
  bool ran = false;
  const std::uint64_t previous = work_.enter_thread();
  Turn turn{.limit = member.limit};
  while (!is_over(member) && work_.run_one(turn)) ran = true;
  if (turn.has_own()) work_.put_back(turn);
  work_.leave_thread(previous);
  give_seat();
  return ran;
}

// True if it was called, or saw another reason to go on.
bool Crew::spin(const Member& member, std::uint32_t seen) {
  if (!may_spin_ || seats_.load(std::memory_order_relaxed) == 0) return false;
  spinning_.fetch_add(1, std::memory_order_seq_cst);
  const auto end = std::chrono::steady_clock::now() + spin_time;
  // From here on calls are for this thread, too; who told of work before did not know that it spins.
  int pauses = 1;
  bool go_on = told() != seen;
  while (!go_on && std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 16 && !go_on; ++i) {
      for (int pause = 0; pause < pauses; ++pause) pause_briefly();
      // Who looks for its goal takes a line from the thread that works on it: less and less often.
      if (member.goal != nullptr) pauses = std::min(2 * pauses, most_pauses);
      go_on = answer_call() || is_over(member);
    }
    // Its core may be the one that a thread with work waits for: that which queues, say.
    if (!go_on) std::this_thread::yield();
  }
  spinning_.fetch_sub(1, std::memory_order_seq_cst);
  return go_on || answer_call();  // whoever saw this thread spinning has called before
}

// Takes one of the calls.
bool Crew::answer_call() {
  std::uint64_t signal = signal_.load(std::memory_order_seq_cst);
  while (static_cast<std::uint32_t>(signal) != 0) {
    __builtin_prefetch(&seats_, 1);  // both for what comes after the answer, which takes as long
    work_.prefetch();
    if (signal_.compare_exchange_weak(signal, signal - 1, std::memory_order_seq_cst)) return true;
  }
  return false;
}

void Crew::sleep(Member& member, std::uint32_t seen) {
  if (member.goal == nullptr && work_.offer_held()) return;
  member.bed.announce();
  const Waiters::Waiter waiter{.work = &work_, .goal = member.goal, .bed = &member.bed};
  if (member.goal != nullptr) waiters_.add(waiter);
  const bool reason = told() != seen || is_over(member);
  if (!reason || !member.bed.cancel()) member.bed.sleep();
  if (member.goal != nullptr) waiters_.remove(waiter);
}

bool Crew::is_over(const Member& member) const {
  return member.goal != nullptr ? work_.reached(*member.goal) : stopping_.load(std::memory_order_relaxed);
}

bool Crew::take_seat() {
  const auto take = [this] {
    int free = seats_.load(std::memory_order_seq_cst);
    while (free > 0) {
      // Sequentially consistent, as the failing case pairs with give_seat.
      if (seats_.compare_exchange_weak(free, free - 1, std::memory_order_seq_cst)) return true;
    }
    return false;
  };
  if (take()) return true;
  if (!work_.has_ready()) return false;
  denied_.store(true, std::memory_order_seq_cst);
  return take();
}

void Crew::give_seat() {
  seats_.fetch_add(1, std::memory_order_seq_cst);
  const auto take = [](std::atomic<bool>& flag) {
    return flag.load(std::memory_order_seq_cst) && flag.exchange(false, std::memory_order_seq_cst);
  };
  // What was left to this thread is left to another that computes, if there is one.
  const bool was_denied = take(denied_), was_left = take(left_) && !leave_to_computing_thread();
  if (was_denied || was_left) notify(1);
}

}  // namespace asyncgrad::detail
