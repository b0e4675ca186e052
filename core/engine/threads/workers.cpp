#include "asyncgrad/core/engine/threads/workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "asyncgrad/core/engine/threads/status.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/profile/profile.h"
#include "asyncgrad/core/sync/signals.h"
#include "asyncgrad/core/sync/spin_lock.h"

namespace asyncgrad::detail {

namespace {

constexpr auto spin_time = std::chrono::microseconds(50);
constexpr int max_pauses = 16;    // between two looks: some 0.7 us
constexpr int brief_pauses = 32;  // some 1.5 us

using Doing = ThreadStatus::Doing;

// The executor for which the calling thread computes at this moment.
constinit thread_local const Workers* seated_at = nullptr;

}  // namespace

bool Workers::is_seated_here() const { return seated_at == this; }
bool Workers::compute_here() { return seated_at != nullptr; }

void Workers::configure(int workers, bool may_spin, const std::string& name) {
  workers_ = workers;
  may_spin_ = may_spin;
  name_ = name;
  seats_.reset(workers);
}

void Workers::stop() {
  const MutexLock lock(threads_mutex_);
  stopping_.store(true, std::memory_order_seq_cst);
  sleep_.wake(UINT32_MAX);
  for (const auto& worker : threads_) worker->thread.join();
  threads_.clear();
  started_.store(false, std::memory_order_relaxed);
  stopping_.store(false, std::memory_order_relaxed);
}

void Workers::forget_threads() {
  const MutexLock lock(threads_mutex_);
  for (auto& worker : threads_) {
    worker->thread.detach();
    static_cast<void>(worker.release());  // its thread does not exist here, but its name may be in use
  }
  threads_.clear();
  started_.store(false, std::memory_order_relaxed);
  sleep_.forget_threads();
  seats_.reset(workers_);
}

void Workers::start_threads() {
  const MutexLock lock(threads_mutex_);
  if (started_.load(std::memory_order_relaxed)) return;
  const BlockedSignals blocked;  // signals are for the program's own threads, and a new thread takes this one's mask
  std::vector<std::unique_ptr<Worker>> made;
  made.reserve(static_cast<std::size_t>(workers_));
  try {
    for (int i = 0; i < workers_; ++i) {
      made.push_back(std::make_unique<Worker>(
          Worker{.name = workers_ == 1 ? name_ : name_ + " " + std::to_string(i + 1), .thread{}}));
      Worker& worker = *made.back();
      worker.thread = std::thread([this, &worker] { run_worker(worker); });
    }
  } catch (const std::exception& error) {  // neither a thread nor, perhaps, memory for one
    if (!made.empty() && !made.back()->thread.joinable()) made.pop_back();
    if (made.empty())
      throw_error("engine", fmt::format("the system gives no thread for '{}': {}", name_, error.what()));
  }
  threads_ = std::move(made);
  started_.store(true, std::memory_order_release);
}

void Workers::run_worker(const Worker& worker) {
  BlockedSignals::block_for_good();
  ThreadStatus::add_worker(worker.name.c_str());
  profile::name_this_thread(worker.name.c_str());
  participate({});
}

void Workers::help(const Goal& goal, std::uint64_t limit) {
  ThreadStatus::add_this_thread();
  participate({.goal = &goal, .limit = limit});
  ThreadStatus::set(Doing::nothing);
  if (work_.has_ready()) notify(1);  // what became ready may be younger than the limit
}

void Workers::compute_briefly(const Goal& goal, std::uint64_t limit) {
  const Member member{.goal = &goal, .limit = limit};
  for (int i = 0; i < brief_pauses && !ring_.reached(goal); ++i) {
    if (!compute(member)) pause_briefly();
  }
  ThreadStatus::set(Doing::nothing);
  if (work_.has_ready()) notify(1);  // as in help()
}

void Workers::compute_awaited(const Goal& goal) {
  ThreadStatus::add_this_thread();
  compute_brief({.goal = &goal});
  ThreadStatus::set(Doing::nothing);
}

bool Workers::compute_tile(const Goal& goal, std::uint64_t limit) {
  if (!work_.has_ready() || !seats_.take()) return false;
  ThreadStatus::add_this_thread();
  bool is_first = true;
  const bool has_run = compute_seated({.goal = &goal, .limit = limit}, /*extra=*/false, [this, &is_first](Turn& turn) {
    turn.goes_on = false;
    return std::exchange(is_first, false) && work_.run_one_tile(turn);
  });
  ThreadStatus::set(Doing::nothing);
  return has_run;
}

void Workers::participate(const Member& member) {
  while (!is_over(member)) {
    if (!compute(member)) rest(member);
  }
}

// Returns when there may be work or the goal is reached.
void Workers::rest(const Member& member) {
  sleep_.prepare();
  if (compute(member) || is_over(member)) return sleep_.cancel();
  if (spin(member)) return;
  if (is_over(member) || (member.goal == nullptr && work_.offer_staged())) return sleep_.cancel();
  if (member.goal == nullptr) {
    ThreadStatus::set(Doing::sleeping);
    return sleep_.commit();
  }
  // Operations beyond its limit are for other threads, so it passes a call that it was about to answer on to them.
  sleep_.cancel();
  if (work_.has_ready()) notify(1);
  ThreadStatus::set(Doing::waiting, member.goal->number);
  waiters_.sleep_until(*member.goal);
}

bool Workers::compute(const Member& member) {
  if (take_seat()) return compute_seated(member, /*extra=*/false, [this](Turn& turn) { return work_.run_one(turn); });
  return member.goal != nullptr && compute_brief(member);
}

bool Workers::compute_brief(const Member& member) {
  if (!seats_.take_extra()) return false;
  const bool has_run =
      compute_seated(member, /*extra=*/true, [this](Turn& turn) { return work_.run_brief_awaited(turn); });
  // What became ready was left to this thread, which may run the awaited part of it alone.
  if (has_run && work_.has_ready()) notify(1);
  return has_run;
}

// The calling thread has taken a seat, the extra one or another. `run` runs one operation or tile; false ends it.
template <class Run>
bool Workers::compute_seated(const Member& member, bool extra, const Run& run) {
  const Workers* const outer = std::exchange(seated_at, this);
  ThreadStatus::set(Doing::searching);
  const std::uint64_t previous = work_.enter_thread();
  bool has_run = false;
  Turn turn{.limit = member.limit};
  while (!is_over(member) && run(turn)) has_run = true;
  if (turn.next != 0) work_.put_back(turn);
  work_.leave_thread(previous);
  seated_at = outer;
  if (seats_.give(extra) && work_.has_ready()) notify(1);
  return has_run;
}

// True if the thread was called, and has answered.
bool Workers::spin(const Member& member) {
  if (!may_spin_ || seats_.taken() >= seats_.count()) return false;
  const auto end = std::chrono::steady_clock::now() + spin_time;
  int pauses = 1;
  do {
    for (int look = 0; look < 16; ++look) {
      for (int pause = 0; pause < pauses; ++pause) pause_briefly();
      // Checks the goal less and less often, because each check takes a cache line from the thread that works on it.
      if (member.goal != nullptr) pauses = std::min(2 * pauses, max_pauses);
      if (sleep_.has_calls()) {
        work_.prefetch();  // before the answer, which takes as long
        if (sleep_.was_called()) return true;
      }
      if (is_over(member)) return false;
    }
    // A thread with work may be waiting for this core, for example the one that queues.
    std::this_thread::yield();
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace asyncgrad::detail
