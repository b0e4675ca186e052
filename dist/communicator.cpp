#include "asyncgrad/dist/communicator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cfenv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <system_error>
#include <utility>

#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/fnv1a.h"
#include "asyncgrad/core/sync/signals.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::dist {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double least_start_s = 30;  // processes start at different times, on a busy machine above all

using Status = Head::Status;

// What each rank tells if they do not agree: the text, cut and filled with 0.
constexpr std::size_t text_bytes = 1024;

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

std::string names_of(const std::vector<int>& ranks) {
  if (ranks.empty()) return "the other ranks";
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
}

// The beginning of a text in UTF-8, of at most so many bytes, which ends with a whole character.
std::string_view cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return text.substr(0, most);
}

// Naps between looks at a call under way: short ones at first, so that a short call is over soon, and then longer ones,
// because other threads need the core.
class Naps {
 public:
  // Returns the seconds that it counts for the nap. A nap counts for a tenth of a second at most, so that a process that
  // was stopped for long does not take others for silent.
  double rest() {
    const auto start = Clock::now();
    if (count_ < longest_after) ++count_;
    if (count_ <= 64) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50 + count_ / 8));
    }
    return std::min(std::chrono::duration<double>(Clock::now() - start).count(), 0.1);
  }

 private:
  static constexpr int longest_after = 3600;  // naps, of half a millisecond by then

  int count_ = 0;
};

}  // namespace

void Rounds::exchange(std::span<const std::byte> mine, std::span<std::byte> all) {
  communicator_.transport_->exchange(mine, all);
  communicator_.finish_call();
}
void Rounds::all_to_all(const std::byte* values, std::byte* received, const Slices& slices) {
  communicator_.transport_->all_to_all(values, received, slices);
  communicator_.finish_transfer((communicator_.size() - 1) * own_bytes(slices, communicator_.rank()));
}
void Rounds::all_gather(std::byte* values, const Slices& slices) {
  communicator_.transport_->all_gather(values, slices);
  communicator_.finish_transfer(slices.back() - own_bytes(slices, communicator_.rank()));
}

// The wait ends when the thread has connected or failed to, or has taken too long: MPI itself waits for ever for a process
// that has ended well before it connected.
Communicator::Communicator(Connect connect, double timeout_s)
    : process_(getpid()), token_(detail::make_tensor({1}, int64, Device())), timeout_s_(timeout_s) {
  using namespace std::chrono_literals;
  const detail::BlockedSignals blocked;  // signals are for the program's own threads
  thread_ = std::thread([this, connect = std::move(connect)] { serve(connect); });
  std::unique_lock lock(mutex_);
  const auto is_over = [this] { return is_connected_ || error_ != nullptr; };
  for (double waited_s = 0; !changed_.wait_for(lock, 100ms, is_over); waited_s += 0.1) {
    if (waited_s <= std::max(timeout_s, least_start_s)) continue;
    // The lock stays held, because serve() may be about to assign what abort() reads.
    abort("not all processes have called world() in time, see its timeout_s");
  }
  if (error_ == nullptr) return;
  lock.unlock();
  thread_.join();
  std::rethrow_exception(error_);
}

Communicator::~Communicator() { end(); }

void refuse_child(std::string_view operation) {
  throw_error(operation, "the child of a fork has no part in the world of its parent; start processes by mpiexec");
}

void Communicator::check(std::string_view operation) const {
  if (getpid() != process_) refuse_child(operation);
  const std::lock_guard lock(mutex_);
  if (!broken_.empty()) throw_error(operation, broken_);
  if (is_ending_) throw_error(operation, "the world has ended");
}

Figures Communicator::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

std::vector<std::uint64_t> Communicator::gather(std::string_view text, std::uint64_t number) {
  std::vector<std::uint64_t> numbers;
  numbers.reserve(static_cast<std::size_t>(size_));
  detail::Fnv1a hash;
  hash.add(std::as_bytes(std::span(text)));
  run({.hash = hash.value(), .text = text, .failure = {}, .value = number, .move = [&](Rounds&, bool) {
         for (const Head& head : heads_) numbers.push_back(head.value);
       }});
  return numbers;
}

void Communicator::leave(const char* why) noexcept {
  const std::lock_guard lock(mutex_);
  if (!broken_.empty()) return;
  try {
    broken_ = fmt::format(
        "this rank has left a collective before its end, and cannot find its way back to the others: {}", why);
  } catch (const std::bad_alloc&) {
    broken_ = "out of memory";  // short enough to need none
  }
}

// The thread that waits here also watches the other one. Its wait ends, because the thread performs the task, in which
// each wait ends; or the thread is stuck inside of the transport, which shows as no look at the call under way for as
// long as the options allow. Then the process ends. Only looks of this thread that found none are counted, so that a
// process that was stopped goes on.
void Communicator::run(const Task& task) {
  using namespace std::chrono_literals;
  std::unique_lock lock(mutex_);
  task_ = &task;
  changed_.notify_all();
  std::uint64_t polls = polls_.load(std::memory_order_relaxed);
  double stuck_s = 0;
  while (!changed_.wait_for(lock, 100ms, [this] { return task_ == nullptr; })) {
    const std::uint64_t now = polls_.load(std::memory_order_relaxed);
    stuck_s = now == polls ? stuck_s + 0.1 : 0;
    polls = now;
    if (stuck_s <= 2 * timeout_s_.load(std::memory_order_relaxed) + 10) continue;
    lock.unlock();
    abort("the transport does not return");
  }
  if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Communicator::end() {
  if (getpid() != process_) {
    if (thread_.joinable()) thread_.detach();  // it does not exist here
    return;
  }
  std::string why;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_ending_, true)) return;
    if (unfinished_.load(std::memory_order_relaxed) > 0) {
      why = "it ends before all of its collectives have ended; wait_all() waits for them";
    } else if (!knows_end_) {
      why = broken_;
    }
    is_aborting_ = !why.empty();
    changed_.notify_all();
  }
  if (!why.empty()) abort(why);
  if (thread_.joinable()) thread_.join();
}

// Its waits end: the program brings a task, or ends.
void Communicator::serve(const Connect& connect) {
  detail::BlockedSignals::block_for_good();
  // So that sums have the bits of workers, whatever the program has set for its threads, such as flushed subnormals.
  std::fesetenv(FE_DFL_ENV);
  std::unique_ptr<Transport> made;
  std::vector<Head> heads;
  std::vector<char> texts;
  std::exception_ptr error;
  try {
    made = connect();
    heads.resize(static_cast<std::size_t>(made->size()));
    texts.resize(heads.size() * text_bytes);
  } catch (...) {
    made = nullptr;
    error = std::current_exception();
  }
  std::unique_lock lock(mutex_);
  transport_ = std::move(made);
  error_ = error;
  if (transport_ != nullptr) {
    rank_ = transport_->rank();
    size_ = transport_->size();
    heads_ = std::move(heads);
    texts_ = std::move(texts);
    is_connected_ = true;
  }
  changed_.notify_all();
  if (transport_ == nullptr) return;
  for (;;) {
    changed_.wait(lock, [this] { return task_ != nullptr || (is_ending_ && !is_aborting_); });
    if (task_ == nullptr) break;
    const Task& task = *task_;
    lock.unlock();
    error = nullptr;
    try {
      perform(task);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    error_ = error;
    task_ = nullptr;
    changed_.notify_all();
  }
  lock.unlock();
  say_goodbye();
  transport_.reset();
}

void Communicator::perform(const Task& task) {
  {
    const std::lock_guard lock(mutex_);
    if (!broken_.empty()) throw Error(broken_);
  }
  Rounds rounds(*this);
  const Head head{.number = number_++,
                  .hash = task.hash,
                  .status = task.failure.empty() ? Status::takes_part : Status::has_failed,
                  .flag = task.flag ? 1U : 0U,
                  .value = task.value};
  const std::vector<Head>& heads = heads_;
  rounds.exchange(bytes_of(head), std::as_writable_bytes(std::span(heads_)));

  const auto ended = std::ranges::find(heads, Status::ends, &Head::status);
  if (ended != heads.end()) {
    knows_end_ = true;
    fail_for_good(fmt::format("rank {} has ended its program; this rank called {}", ended - heads.begin(), task.text));
  }
  const auto failed = std::ranges::find(heads, Status::has_failed, &Head::status);
  const auto other = std::ranges::find_if(
      heads, [&](const Head& one) { return one.hash != heads[0].hash || one.number != heads[0].number; });
  if (failed == heads.end() && other == heads.end()) {
    return move(task, rounds);
  }

  std::array<char, text_bytes> text{};
  const std::string_view own = task.failure.empty() ? task.text : task.failure;
  std::ranges::copy(cut(own, text_bytes - 1), text.begin());
  rounds.exchange(std::as_bytes(std::span(text)), std::as_writable_bytes(std::span(texts_)));
  const auto text_of = [&](std::size_t rank) { return std::string_view(&texts_[rank * text_bytes]); };
  if (failed != heads.end()) {
    const auto rank = static_cast<std::size_t>(failed - heads.begin());
    throw Error(fmt::format("rank {}: {}", rank, text_of(rank)));
  }
  const auto rank = static_cast<std::size_t>(other - heads.begin());
  throw Error(
      fmt::format("the programs of the ranks differ: rank 0 calls {}; rank {} calls {}. All ranks make the same "
                  "calls in the same order, with tensors of the same shapes",
                  text_of(0), rank, text_of(rank)));
}

// A rank that leaves the others in the middle of a move cannot find its way back to them.
void Communicator::move(const Task& task, Rounds& rounds) {
  has_values_ = false;
  overlap_.begin(Clock::now());
  try {
    task.move(rounds, std::ranges::any_of(heads_, [](const Head& one) { return one.flag != 0; }));
  } catch (const std::exception& error) {
    has_values_ = false;
    leave(error.what());
    throw;
  }
  if (!std::exchange(has_values_, false)) return;
  look_at_computing();
  const std::lock_guard lock(mutex_);
  overlap_.add_to(figures_);
}

// The wait has no limit, because other ranks may have much to do before they end. It ends: every other process comes to
// its end, too, or to a collective, and says so; or it dies, and what started the processes ends this one.
void Communicator::say_goodbye() {
  if (transport_->has_ended()) return;
  try {
    if (!knows_end_) {
      const Head head{.number = number_, .status = Status::ends};
      transport_->exchange(bytes_of(head), std::as_writable_bytes(std::span(heads_)));
      finish_call(0, /*forever=*/true);
    }
    transport_->end();
  } catch (const std::exception& error) {
    abort(error.what());
  }
}

// A link that is simulated ends a call no earlier than a real one would.
void Communicator::finish_transfer(std::int64_t received_bytes) {
  const double bytes_per_second = bytes_per_second_.load(std::memory_order_relaxed);
  has_values_ = true;
  finish_call(bytes_per_second > 0 ? static_cast<double>(received_bytes) / bytes_per_second : 0);
  const std::lock_guard lock(mutex_);
  figures_.received_bytes += received_bytes;
}

void Communicator::look_at_computing() { overlap_.look(Clock::now(), detail::is_computing(token_.device())); }

void Communicator::finish_call(double least_s, bool forever) {
  Naps naps;
  double waited_s = 0;
  const auto start = Clock::now();
  for (bool is_done = false;;) {
    is_done = is_done || transport_->done();
    if (has_values_) look_at_computing();
    if (is_done && std::chrono::duration<double>(Clock::now() - start).count() >= least_s) return;
    polls_.fetch_add(1, std::memory_order_relaxed);
    const double timeout_s = timeout_s_.load(std::memory_order_relaxed);
    if (!is_done && !forever && waited_s > timeout_s) {
      fail_for_good(fmt::format("no answer from {} within {} s; WorldOptions::timeout_s sets the time",
                                names_of(transport_->silent()), timeout_s));
    }
    waited_s += naps.rest();
  }
}

void Communicator::fail_for_good(std::string why) {
  const std::lock_guard lock(mutex_);
  if (broken_.empty()) broken_ = std::move(why);
  throw Error(broken_);
}

// MPI's own abort may wait for what hangs already, and an exit() for the operation that this may be part of. So another
// thread ends the process if that takes long.
void Communicator::abort(const std::string& why) noexcept {
  using namespace std::chrono_literals;
  const std::string who = transport_ == nullptr ? "a rank" : fmt::format("rank {}", rank_);
  std::fprintf(stderr, "asyncgrad: %s ends all processes of its world: %s\n", who.c_str(), why.c_str());
  try {
    std::thread([] {
      std::this_thread::sleep_for(5s);
      std::_Exit(1);
    }).detach();
  } catch (const std::system_error&) {  // the system gives no thread: it goes on without
  }
  // What has started the processes may lose a line that is written right before it ends them.
  std::this_thread::sleep_for(100ms);
  if (transport_ != nullptr) transport_->abort();
  std::_Exit(1);
}

}  // namespace asyncgrad::dist
