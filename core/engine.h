// What a program sets and asks of the engine that runs its operations. Any thread may call these functions, but see
// set_engine_options.
//
// A process may fork: fork() waits until everything is finished, and both sides go on. Only the thread that forks lives
// on in the child; no other may be using tensors at that moment, or the child may miss a lock's owner for ever.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "asyncgrad/core/location.h"

namespace asyncgrad {

// In which order ready operations start. Results are the same bits under every one.
enum class Schedule : std::uint8_t {
  oldest_first,  // the oldest in program order first, held back by the memory budget
  first_ready,   // what became ready first starts first, as MXNet does; always without a budget
  immediate,     // every operation is finished, and its error thrown, before the call that queues it returns
  dry_run,       // nothing is computed: shapes alone, and what memory they would take; see core/dry_run.h
};

// How much memory operations that run ahead of their order may take. Never less than what the program needs in its own
// order: the serial peak.
class MemoryBudget {
 public:
  // 1.05 times the serial peak so far, since recover() if that was called, or 256 KiB more than it where that is more.
  constexpr MemoryBudget() = default;
  static constexpr MemoryBudget automatic() { return MemoryBudget(); }
  static constexpr MemoryBudget unbounded() { return MemoryBudget(unbounded_value); }
  static constexpr MemoryBudget bytes(std::int64_t bytes) { return MemoryBudget(bytes); }  // of live memory, a device

  constexpr bool is_automatic() const { return value_ == automatic_value; }
  constexpr bool is_unbounded() const { return value_ == unbounded_value; }
  constexpr std::int64_t bytes() const { return value_; }  // meaningful if neither of the above
  friend constexpr bool operator==(MemoryBudget, MemoryBudget) = default;

 private:
  static constexpr std::int64_t automatic_value = std::numeric_limits<std::int64_t>::min(),
                                unbounded_value = automatic_value + 1;
  constexpr explicit MemoryBudget(std::int64_t value) : value_(value) {}
  std::int64_t value_ = automatic_value;
};

struct EngineOptions {
  // Threads that compute at once, up to 4096; 0: as many as there are cores. Fewer if the system gives no more.
  int workers = 0;
  Schedule schedule = Schedule::oldest_first;
  MemoryBudget memory_budget{};
  std::int64_t queue_capacity = 16384;  // operations queued and unfinished at most, up to 2^20
  bool inline_tiny = true;              // tiny operations whose inputs are finished run at the call
  // The CPU is one device, "cpu" or "cpu:0", or so many, up to 8: "cpu:0", "cpu:1" … share out the workers. Copies
  // between them have a thread of their own. A tensor on a part that is not there any more can be read and let go.
  int cpu_parts = 1;
  // Memory that tensors have given back and that is kept for the next ones, at most, of each device. 0: none is kept;
  // but blocks of up to 512 bytes of the CPU are always, as the tensors' own records are. By default all that fits
  // beside live memory into the budget. Of a device with queues of its own what is above the bound goes back to the
  // system only when memory is taken anew, as it waits for the device.
  std::int64_t max_cached_bytes = std::numeric_limits<std::int64_t>::max();
  // A simulated slow link, for demonstrations and tests: every copy from one part of the CPU to another takes at least
  // its bytes divided by this, for which its thread sleeps and so holds no core. To each part goes a link of its own,
  // one copy at a time. 0: copies are as fast as the memory. Bits are the same either way.
  std::int64_t copy_bytes_per_second = 0;
};

// Waits until everything is finished, then goes on under the new options; no other thread may queue operations
// meanwhile. Throws Error for options that make no sense; and, the new ones being in force, if a GPU does not come into
// use again: it is tried anew by whatever makes a tensor there. The first options come from the environment:
// ASYNCGRAD_WORKERS (a number), ASYNCGRAD_SCHEDULE (a schedule's name).
//
// Under Schedule::dry_run values do not exist: what reads them (item, to_vector, printing) throws Error, waits return
// at once, `from` copies nothing. Under another schedule afterwards, a use of a value that was left uncomputed throws
// at the wait; values that were there before, parameters say, are as they were again after recover().
void set_engine_options(const EngineOptions& options);
EngineOptions engine_options();  // with the number of workers filled in

// A place in the program's order.
class Mark {
 public:
  Mark() = default;  // the beginning: nothing to wait for
  // Waits, computing meanwhile, until everything queued before the mark is finished. Throws nothing: errors belong to
  // values, and surface at a wait for one or at wait_all().
  void wait() const;

 private:
  friend Mark mark();
  explicit Mark(std::uint64_t number) : number_(number) {}
  std::uint64_t number_ = 0;
};
Mark mark();

// Waits, computing meanwhile, until everything is finished. Throws the oldest Error that no wait has thrown yet.
void wait_all();

// After a failure: waits until everything is finished, makes every value that was skipped in place valid again as it
// was, and forgets all errors, and how much memory was asked for so far. Values that were never computed stay failed.
// Returns how many errors no wait had thrown.
int recover();

struct EngineFigures {
  std::int64_t operations = 0;    // queued or run at the call since the process started
  std::int64_t inlined = 0;       // of these, run at the call
  std::int64_t queued = 0;        // queued and not finished now
  std::int64_t peak_queued = 0;   // the most of that since the start or reset_peaks()
  double frontend_wait_s = 0;     // time that the calling thread has spent waiting, or computing while it waited
  std::int64_t record_bytes = 0;  // memory of the engine's own records
};
EngineFigures engine_figures();

// What the engine does at this moment, as text for people: what is queued and what the oldest operations wait for, what
// every thread does, and what holds the memory of each device. Answers within some milliseconds, even if every thread
// hangs; not from a signal handler.
std::string engine_report();

}  // namespace asyncgrad
