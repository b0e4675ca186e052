#include "asyncgrad/core/engine/schedule/cpu_executor.h"

#include <sched.h>

#include <utility>

#include "asyncgrad/core/engine/run/execution.h"
#include "asyncgrad/core/engine/run/nan_check.h"
#include "asyncgrad/core/engine/schedule/executors.h"
#include "asyncgrad/core/engine/threads/status.h"
#include "asyncgrad/core/profile/profile.h"

namespace asyncgrad::detail {

namespace {

// Threads on even cores begin the first tile of those that are left, threads on odd ones the last: what one operation
// has left in a core's cache, the next one mostly reads there.
int take_tile_here(Progress& progress) { return progress.take_tile(/*last=*/sched_getcpu() % 2 != 0); }

}  // namespace

bool CpuExecutor::run_one(Turn& turn) {
  if (context_.ring.awaited().any() && run_awaited(turn)) return true;
  if (const std::uint64_t number = std::exchange(turn.next, 0); number != 0) {
    if (number > turn.limit) {
      turn.next = number;
      put_back(turn);
    } else if (try_run(number, /*is_offered=*/false, turn) == Outcome::ran) {
      return true;
    }
  }
  Ready::Search search{.first = context_.ring.oldest().load(std::memory_order_seq_cst), .limit = turn.limit};
  while (const std::uint64_t number = ready_->next(search)) {
    const Outcome outcome = try_run(number, /*is_offered=*/true, turn);
    if (outcome == Outcome::ran) return true;
    if (outcome == Outcome::refused && !ready_->goes_on_after_refusal(search)) return false;
  }
  return false;
}

// Runs an operation, or a tile, that a thread waits for. Then the thread's next one is the oldest again, so that f moves
// whatever is awaited; but some tiny ones in a row count as one.
bool CpuExecutor::run_awaited(Turn& turn) {
  constexpr int max_tiny = 8;
  if (turn.awaited_in_row >= max_tiny) {
    turn.awaited_in_row = 0;
    return false;
  }
  const Ring& ring = context_.ring;
  if (turn.next != 0 && ring.awaited().has(ring.slot(turn.next))) return false;  // it is the next one anyway
  if (!find_and_run_awaited(turn, /*only_brief=*/false)) return false;
  turn.awaited_in_row = turn.was_long ? max_tiny : turn.awaited_in_row + 1;
  return true;
}

bool CpuExecutor::run_brief_awaited(Turn& turn) {
  constexpr int max_in_row = 256;  // as many as a wait marks
  if (!context_.ring.awaited().any() || turn.awaited_in_row++ == max_in_row) return false;
  if (turn.next != 0) put_back(turn);  // it need not be brief
  return find_and_run_awaited(turn, /*only_brief=*/true);
}

bool CpuExecutor::find_and_run_awaited(Turn& turn, bool only_brief) {
  const Ring& ring = context_.ring;
  Ready::Search search{.first = ring.oldest().load(std::memory_order_seq_cst), .limit = turn.limit};
  while (const std::uint64_t number = ready_->next_awaited(search)) {
    if (only_brief && help_of(number) != Help::whole) continue;
    if (turn.next != 0) put_back(turn);  // what has ended may give it another one
    const Outcome outcome = try_run(number, /*is_offered=*/true, turn);
    if (outcome == Outcome::ran) return true;
    if (outcome == Outcome::refused && !ready_->goes_on_after_refusal(search)) return false;
  }
  return false;
}

bool CpuExecutor::run_one_tile(Turn& turn) {
  constexpr int max_tries = 4;  // what is younger is for the workers
  Ready::Search search{.first = context_.ring.oldest().load(std::memory_order_seq_cst), .limit = turn.limit};
  for (int i = 0; i < max_tries; ++i) {
    const std::uint64_t number = ready_->next_open(search);
    if (number == 0) return false;
    if (help_of(number) != Help::tiles) continue;
    const Outcome outcome = try_run(number, /*is_offered=*/true, turn);
    if (outcome != Outcome::gone) return outcome == Outcome::ran;
  }
  return false;
}

// Acquire: the mark is this operation's, or a later one's, in place of which try_run() and join() run none.
Help CpuExecutor::help_of(std::uint64_t number) const {
  const Operation& operation = context_.ring.at(number);
  const bool is_there = Progress::of(operation.word.load(std::memory_order_acquire)).is_of(number);
  return is_there ? operation.help.load(std::memory_order_relaxed) : Help::none;
}

// `is_offered`: other threads may find the operation.
Executor::Outcome CpuExecutor::try_run(std::uint64_t number, bool is_offered, Turn& turn) {
  Operation& operation = context_.ring.at(number);
  // Acquire: the entry is seen as it was when the operation became ready, or was opened.
  const Progress progress = Progress::of(operation.word.load(std::memory_order_acquire));
  // The slot may belong to a later operation by now, perhaps of another executor.
  if (!progress.is_of(number) || &executor_of(operation) != this) return Outcome::gone;
  if (!progress.is_ready()) return join(operation, number, turn);
  if (context_.run_state.is_exiting()) return Outcome::gone;
  prefetch_result(operation, number);
  return claim(operation, number) ? start(operation, is_offered, turn) : Outcome::gone;
}

bool CpuExecutor::claim(Operation& operation, std::uint64_t number) const {
  std::uint64_t word = Progress::word_of(number, Progress::ready);
  // Acquire: as in try_run().
  return operation.word.compare_exchange_strong(word, Progress::word_of(number, Progress::claimed),
                                                std::memory_order_acquire);
}

// Begins the operation's next tile, if there is one.
Executor::Outcome CpuExecutor::join(Operation& operation, std::uint64_t number, Turn& turn) {
  std::uint64_t word = operation.word.load(std::memory_order_acquire);
  for (Progress progress = Progress::of(word); progress.is_of(number) && progress.tiles_left() > 0;
       progress = Progress::of(word)) {
    const int tile = take_tile_here(progress);
    if (!operation.word.compare_exchange_weak(word, progress.word(), std::memory_order_acquire)) continue;
    // The slot belongs to this operation until all tiles have ended.
    if (progress.tiles_left() == 0) ready_->remove(number);
    run_and_complete(operation, tile, turn);
    return Outcome::ran;
  }
  return Outcome::gone;
}

// The calling thread has claimed the operation.
Executor::Outcome CpuExecutor::start(Operation& operation, bool is_offered, Turn& turn) {
  const Invocation& invocation = operation.invocation;
  Failure* failure = has_poison(invocation) ? first_cause(invocation, context_.failures) : nullptr;
  if (failure == nullptr && !admit(operation)) {
    make_ready_again(operation);
    return Outcome::refused;
  }
  if (context_.run_state.is_exiting()) return Outcome::gone;  // it is on a seat by now, see RunState
  if (failure == nullptr) {
    try {
      if (!take_or_park(operation, /*can_return=*/false)) return Outcome::refused;
      prepare(invocation);
    } catch (...) {
      failure = fail(operation);
    }
  }
  if (is_offered) ready_->remove(operation.number);
  if (failure != nullptr) {
    miss(operation, *failure, turn);
    context_.failures.let_go(*failure);
    return Outcome::ran;
  }
  prefetch_for_reading(context_.ring.at(operation.number + 2));
  prefetch_result(context_.ring.at(operation.number + 1), operation.number + 1);
  begin(operation);
  run_and_complete(operation, operation.tiles > 1 ? open(operation) : 0, turn);
  return Outcome::ran;
}

// Lets other threads join. Returns the tile that belongs to the caller.
int CpuExecutor::open(Operation& operation) {
  const int tiles = operation.tiles;
  operation.tiles_left.store(tiles, std::memory_order_relaxed);
  Progress progress = Progress::opened(operation.number, tiles);
  const int tile = take_tile_here(progress);
  // Release: a thread that joins sees the memory that was taken. Sequentially consistent, as the search for work that
  // follows must find it.
  operation.word.store(progress.word(), std::memory_order_seq_cst);
  ready_->open(operation.number);
  workers().notify(tiles - 1);
  return tile;
}

void CpuExecutor::run_parts(Operation& operation, int tile) {
  KernelCall call = operation.invocation.call();
  // If a tile has failed, the others need not run.
  for (int part = tile; part < operation.kernel_tiles; part += operation.tiles) {
    if (operation.failure.load(std::memory_order_relaxed) == nullptr) run_tile(operation.invocation, call, part);
  }
}

Failure* CpuExecutor::look_for_nan(const Operation& operation) {
  try {
    check_nan(operation.invocation);
  } catch (...) {
    return fail(operation);
  }
  return nullptr;
}

void CpuExecutor::run_and_complete(Operation& operation, int tile, Turn& turn) {
  const bool is_long = operation.weight != Weight::tiny;
  turn.was_long = is_long;
  if (is_long) workers().begin_long();
  ThreadStatus::set(ThreadStatus::Doing::computing, operation.number);
  try {
    const profile::TileSpan span(operation.number, tile);
    run_parts(operation, tile);
  } catch (...) {
    Failure* failure = fail(operation);
    Failure* none = nullptr;
    if (!operation.failure.compare_exchange_strong(none, failure, std::memory_order_relaxed)) {  // see tiles_left
      context_.failures.forget(*failure);  // one operation, one error
      context_.failures.let_go(*failure);
    }
  }
  if (is_long) workers().end_long();
  if (operation.tiles > 1 && operation.tiles_left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  Failure* failure = operation.failure.load(std::memory_order_relaxed);
  if (failure == nullptr && operation.invocation.checks_nan) failure = look_for_nan(operation);
  end(operation, failure, turn);
  if (failure != nullptr) context_.failures.let_go(*failure);
}

}  // namespace asyncgrad::detail
