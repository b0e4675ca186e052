#include "asyncgrad/core/engine/schedule/pool.h"

#include <utility>

#include "asyncgrad/core/engine/engine.h"
#include "asyncgrad/core/engine/run/execution.h"
#include "asyncgrad/core/profile/profile.h"

namespace asyncgrad::detail {

namespace {

constexpr int most_refusals = 4;  // of one search: what is younger is not likely to fare better
// So far behind f a thread begins that waits for something, while another does short work and f moves: side by side
// they would take from each other, with each operation, the lines of records and of the ready set. Once f stands still
// it is this one's turn.
constexpr std::size_t fewest_apart = 64;

}  // namespace

bool Pool::run_one(Turn& turn) {
  if (turn.has_own() && run_own(turn)) return true;
  if (ready_queue_ != nullptr) {
    // Each once: those that find no memory go to the end, and one behind them may be what the others wait for.
    for (std::size_t tries = engine_.is_exiting() ? 0 : ready_queue_->size(); tries > 0; --tries) {
      const std::uint64_t number = ready_queue_->pop(turn.limit);
      if (number == 0) break;
      if (try_run(number, turn) == Outcome::ran) return true;
    }
  }
  const std::uint64_t before = std::exchange(turn.first, engine_.ring().oldest().load(std::memory_order_seq_cst));
  if (set_aside(turn) && run_own(turn)) return true;
  const bool is_beside_another = turn.limit != UINT64_MAX && turn.first != before && crew_.others_compute_briefly();
  return (is_beside_another && run_first(turn, fewest_apart)) || run_first(turn, 0);
}

// The first of its own, as long as that is the oldest of all: what this thread would find, and admission would not
// refuse. Others that became ready meanwhile may be older.
bool Pool::run_own(Turn& turn) {
  const std::uint64_t number = turn.own;
  Operation& operation = engine_.ring().at(number);
  if (number <= turn.limit) {
    if (!claim(operation, number)) {
      if (!is_to_run(operation, number)) ++turn.own;  // another thread found it before it was set aside
    } else if (engine_.is_oldest(operation)) {
      ++turn.own;
      // Nothing is kept from others while this thread does what takes long.
      if (turn.has_own() && (!operation.is_tiny || engine_.hook() != nullptr)) put_back(turn);
      if (start(operation, false, turn) == Outcome::ran) return true;
    } else {
      operation.word.store(Progress::word_of(number, Progress::ready), std::memory_order_release);  // as in offer()
    }
  }
  if (turn.has_own()) put_back(turn);
  return false;
}

// The oldest of all and those right behind it: one step for many. Not beside another thread that computes, which would
// lack them.
bool Pool::set_aside(Turn& turn) {
  if (ready_queue_ != nullptr || crew_.others_compute() || engine_.is_exiting()) return false;
  const Operation& oldest = engine_.ring().at(turn.first);
  if (!is_ready(oldest, turn.first)) return false;  // open ones are for try_run()
  turn.own = turn.first;
  turn.own_end = turn.own + static_cast<std::uint64_t>(ready_->take_run(engine_.ring().slot(turn.own)));
  // This thread may have been held up since it read f, for as long as the ring takes to come round: then what it took
  // are the slots' next owners. Acquire: of what was taken the word is seen that it had when it was inserted.
  if (turn.has_own() && !Progress::of(oldest.word.load(std::memory_order_acquire)).is_of(turn.first)) put_back(turn);
  return turn.has_own();
}

// The oldest that may run, of those that lie `skip` or more behind f.
bool Pool::run_first(Turn& turn, std::size_t skip) {
  int refusals = 0;
  for (;;) {
    const std::int64_t behind = ready_->nearest(engine_.ring().slot(turn.first), skip);
    if (behind < 0 || turn.first + static_cast<std::uint64_t>(behind) > turn.limit) return false;
    const Outcome outcome = try_run(turn.first + static_cast<std::uint64_t>(behind), turn);
    if (outcome == Outcome::ran) return true;
    if (outcome == Outcome::refused && ++refusals == most_refusals) return false;
    skip = static_cast<std::size_t>(behind) + 1;
  }
}

// Whether it is ready or has tiles left, of this stream: else it is no member of the ready set, or will not be one for
// long.
bool Pool::is_to_run(const Operation& operation, std::uint64_t number) const {
  const Progress progress = Progress::of(operation.word.load(std::memory_order_acquire));  // as in claim()
  return progress.is_of(number) && (progress.is_ready() || progress.has_tiles()) && &stream_of(operation) == this;
}

// Whether it is ready, of this stream: of the word's number, or of a later one, which the exchange finds out.
bool Pool::is_ready(const Operation& operation, std::uint64_t number) const {
  return operation.word.load(std::memory_order_acquire) == Progress::word_of(number, Progress::ready) &&
         &stream_of(operation) == this;
}

// True if it was ready, of this stream, and is this thread's now.
bool Pool::claim(Operation& operation, std::uint64_t number) {
  // Acquire, as there: the record is seen as it was when it became ready.
  std::uint64_t word = Progress::word_of(number, Progress::ready);
  return is_ready(operation, number) &&
         operation.word.compare_exchange_strong(word, Progress::word_of(number, Progress::claimed),
                                                std::memory_order_acquire);
}

Stream::Outcome Pool::try_run(std::uint64_t number, Turn& turn) {
  Operation& operation = engine_.ring().at(number);
  // Acquire: the record is seen as it was when it became ready, or opened.
  std::uint64_t word = operation.word.load(std::memory_order_acquire);
  Progress progress = Progress::of(word);
  // The slot's next owner; or one of another stream, see Stream::ready_.
  if (!progress.is_of(number) || &stream_of(operation) != this) return Outcome::gone;
  if (progress.is_ready()) {
    if (engine_.is_exiting()) return Outcome::gone;
    prefetch_result(operation, number);
    return claim(operation, number) ? start(operation, ready_queue_ == nullptr, turn) : Outcome::gone;
  }
  while (progress.has_tiles() && progress.is_of(number)) {
    const int tile = progress.begun++;
    if (operation.word.compare_exchange_weak(word, progress.word(), std::memory_order_acquire)) {
      // The slot stays this operation's as long as a tile is not ended.
      if (!progress.has_tiles()) ready_->erase(engine_.ring().slot(number));
      run_tile_of(operation, tile, turn);
      return Outcome::ran;
    }
    progress = Progress::of(word);
  }
  return Outcome::gone;
}

// Of a record that this thread has claimed. `is_member`: of the ready set.
Stream::Outcome Pool::start(Operation& operation, bool is_member, Turn& turn) {
  const Invocation& invocation = operation.invocation;
  Failure* cause = has_poison(invocation) ? first_cause(invocation) : nullptr;
  if (cause == nullptr && !admit(operation)) {
    profile::refused(operation.number);
    // Another thread that does short work comes to it in its turn; this one would only be in its way.
    if ((operation.is_tiny && crew_.leave_to_other()) || !admit_at_last(operation)) {
      make_ready_again(operation);
      return Outcome::refused;
    }
  }
  // Sequentially consistent, as is the exit, which first forbids starts and then looks for threads on a seat, such as
  // this one.
  if (engine_.is_exiting()) return Outcome::gone;
  Failure* own = nullptr;
  if (cause == nullptr) {
    try {
      if (!take_or_park(operation, false)) return Outcome::refused;
      prepare(invocation);
    } catch (...) {
      own = engine_.fail(invocation, operation.number);
    }
  }
  if (is_member) ready_->erase(engine_.ring().slot(operation.number));
  if (cause != nullptr || own != nullptr) {
    engine_.complete(*this, operation, cause != nullptr ? cause : own, false, turn);
    if (own != nullptr) engine_.failures().let_go(*own);
    return Outcome::ran;
  }
  prefetch_for_reading(engine_.ring().at(operation.number + 2));
  prefetch_result(engine_.ring().at(operation.number + 1), operation.number + 1);
  if (operation.tiles > 1) open(operation);
  run_tile_of(operation, 0, turn);
  return Outcome::ran;
}

// The first tile is the caller's.
void Pool::open(Operation& operation) {
  const int tiles = operation.tiles;
  operation.tiles_left.store(tiles, std::memory_order_relaxed);
  // Release: whoever joins sees the memory that was taken. Sequentially consistent, as the search for work that follows
  // an insertion must find it.
  operation.word.store(
      Progress{static_cast<std::uint32_t>(operation.number), static_cast<std::uint16_t>(tiles), 1}.word(),
      std::memory_order_seq_cst);
  ready_->insert(engine_.ring().slot(operation.number));
  crew_.notify(tiles - 1);
}

void Pool::run_tile_of(Operation& operation, int tile, Turn& turn) {
  const bool is_long = !operation.is_tiny;
  if (is_long) crew_.begin_long();
  try {
    const profile::TileSpan span(operation.number, tile);
    KernelCall call = operation.invocation.call();
    // Once a tile has failed the others need not run.
    for (int part = tile; part < operation.kernel_tiles; part += operation.tiles) {
      if (operation.failure.load(std::memory_order_relaxed) == nullptr) run_tile(operation.invocation, call, part);
    }
  } catch (...) {
    Failure* failure = engine_.fail(operation.invocation, operation.number);
    Failure* none = nullptr;
    if (!operation.failure.compare_exchange_strong(none, failure, std::memory_order_relaxed)) {  // see tiles_left
      failure->delivered.store(true, std::memory_order_relaxed);  // one operation, one error
      engine_.failures().let_go(*failure);
    }
  }
  if (is_long) crew_.end_long();
  if (operation.tiles > 1 && operation.tiles_left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  Failure* failure = operation.failure.load(std::memory_order_relaxed);
  engine_.complete(*this, operation, failure, true, turn);
  if (failure != nullptr) engine_.failures().let_go(*failure);
}

}  // namespace asyncgrad::detail
