// Options and figures of the engine that runs a program's operations. Any thread may call these functions.
//
// A process may fork: fork() waits until everything is finished, and both processes go on. Other threads that queue
// wait meanwhile. Only the thread that forks exists in the child, where no lock of the library is held.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "asyncgrad/core/device.h"
#include "asyncgrad/core/location.h"

namespace asyncgrad {

// The order in which ready operations start. Results have the same bits under every schedule.
enum class Schedule : std::uint8_t {
  oldest_first,  // the oldest in program order starts first; the memory budget holds back what would run too early
  first_ready,   // what became ready first starts first, as MXNet does; always without a budget
  immediate,     // every operation is finished, and its error thrown, before the call that queues it returns
  dry_run,       // nothing is computed; shapes and memory are counted, see core/dry_run.h
};
// The name as it is spelled here, in the environment variable ASYNCGRAD_SCHEDULE, on command lines and in Python:
// "oldest_first".
std::string_view name_of(Schedule schedule);
std::optional<Schedule> schedule_of(std::string_view name);  // of exactly that name
std::string schedule_names();                                // "oldest_first, first_ready, immediate or dry_run"

// A bound on live memory, for each device, above which operations do not start ahead of their order. It never stops a
// program that needs more when it runs in its own order; that need is the serial peak.
class MemoryBudget {
 public:
  // The larger of 1.05 times the serial peak so far and 256 KiB more than it. recover() starts the peak again.
  constexpr MemoryBudget() = default;
  static constexpr MemoryBudget automatic() { return MemoryBudget(); }
  static constexpr MemoryBudget unbounded() { return MemoryBudget(unbounded_value); }
  static constexpr MemoryBudget bytes(std::int64_t bytes) { return MemoryBudget(bytes); }

  constexpr bool is_automatic() const { return value_ == automatic_value; }
  constexpr bool is_unbounded() const { return value_ == unbounded_value; }
  constexpr std::int64_t bytes() const { return value_; }  // valid if it is neither automatic nor unbounded
  friend constexpr bool operator==(MemoryBudget, MemoryBudget) = default;

 private:
  static constexpr std::int64_t automatic_value = std::numeric_limits<std::int64_t>::min(),
                                unbounded_value = automatic_value + 1;
  constexpr explicit MemoryBudget(std::int64_t value) : value_(value) {}
  std::int64_t value_ = automatic_value;
};

// The most threads that compute at once.
inline constexpr int max_workers = 4096;

struct EngineOptions {
  // The number of threads that compute at once, up to max_workers; 0 stands for the number of cores. There are fewer if
  // the system refuses to create more. One thread more, which waits, may compute what it waits for if that takes some
  // 0.1 ms.
  int workers = 0;
  Schedule schedule = Schedule::oldest_first;
  MemoryBudget memory_budget{};
  std::int64_t queue_capacity = 4096;  // the most operations that are queued and unfinished at once, up to 2^20
  bool inline_tiny = true;             // tiny operations whose inputs are finished run at the call
  // The number of devices into which the CPU is divided, up to 8: "cpu:0", "cpu:1" and so on share the workers. Copies
  // between them run on a thread of their own. A tensor on a part that no longer exists can be read and destroyed.
  int cpu_parts = 1;
  int source_threads = 2;  // how many sources of a part of the CPU run at once, up to 64; see source()
  // Drops values that backward() will need, and computes them again there, to keep the serial peak within the memory
  // budget, which is then a number of bytes. Results keep their bits. See docs/memory_budget.md.
  bool recompute_to_fit = false;
  // The most memory, in bytes, that each device keeps for the next tensors after others have given it back. 0 keeps
  // none, except blocks of up to 512 bytes on the CPU, which are always kept, as are the library's own small objects.
  // The default keeps what fits into the budget beside live memory. Pinned memory has a cache of its own, for which the same
  // limit holds once more; there and on a GPU, what tensors below a megabyte had is always kept. On a GPU the excess is
  // released only at the next allocation, because releasing waits for the device.
  std::int64_t max_cached_bytes = std::numeric_limits<std::int64_t>::max();
};

// Waits until everything is finished, then sets the new options. Other threads that queue operations wait meanwhile, a
// tenth of a second at first: what is unfinished may wait for them. Throws Error for options that make no sense, and
// then changes nothing. Throws Error, with the new options in force, if a GPU cannot be used again; the next call that
// makes a tensor there tries again. Throws std::bad_alloc, or Error, if the system refuses memory: the options are the
// old ones or the new ones, and a part of the CPU may be out of use, whose operations throw Error, until the next call of
// this function. The first options come from the environment: ASYNCGRAD_WORKERS (a number),
// ASYNCGRAD_SCHEDULE (a schedule's name).
//
// Under Schedule::dry_run values do not exist: item(), to_vector() and printing throw Error, waits return at once, and
// `from` copies nothing. Under a later schedule a wait for a value that was left uncomputed throws; recover() makes
// values that existed before the dry run, such as parameters, valid again as they were.
void set_engine_options(const EngineOptions& options);
// The options in force, with the number of workers that there are in place of 0. Does not block.
EngineOptions engine_options();

// A position in the program's order. Copies are independent; several threads may wait for one.
class Mark {
 public:
  Mark() = default;  // the beginning of the program: there is nothing to wait for
  // Waits, computing meanwhile, until everything queued before the mark is finished. Does not throw the errors of
  // operations: they belong to values, and a wait for such a value or wait_all() throws them.
  void wait() const;

 private:
  friend Mark mark();
  explicit Mark(std::uint64_t number) : number_(number) {}
  std::uint64_t number_ = 0;
};
// The position after everything that is queued so far. Does not block.
Mark mark();

// Waits, computing meanwhile, until everything is finished. Throws the oldest Error that no wait has thrown yet.
void wait_all();
// The same for everything that is queued so far on one device, copies from and to it included, and what that depends on.
// Other devices go on, and what they have failed at so far is thrown, too. Throws Error inside an operation, and if there
// is no such device; a GPU that nothing has used so far comes into use.
void wait_all(Device device);

// Lets a program go on after a failure: waits until everything is finished, then makes valid again, as it was, every
// value that a skipped operation should have written in place. Also forgets all errors, and the largest memory that was
// asked for so far. Values that were never computed stay failed; a gradient of a leaf among them counts as none. Those
// that a failed step did compute stay; zero_grad() drops them. Returns the number of errors that no wait has thrown.
int recover();

struct EngineFigures {
  std::int64_t operations = 0;    // operations queued, or run at the call, since the process started
  std::int64_t inlined = 0;       // those of them that ran at the call
  std::int64_t queued = 0;        // operations that are queued and not finished now
  std::int64_t peak_queued = 0;   // the largest value of `queued` since the start or reset_peaks()
  double frontend_wait_s = 0;     // time that the calling thread has spent waiting, or computing while it waited
  std::int64_t record_bytes = 0;  // memory of the ring of queued operations and of their edges
  // With EngineOptions::recompute_to_fit, since the start or reset_peaks(): operations that computed a value again, what
  // they took, and what all operations took, in scalar operations.
  std::int64_t recomputed_operations = 0, recomputed_work = 0, work = 0;
  // With the same option: values that were computed again because an operation was about to overwrite their inputs while
  // a tape still needed them, such as the tape of a loss that is kept and was computed outside of NoGrad. A warning names
  // the line of that loss.
  std::int64_t recomputed_before_writes = 0;
  // What computing again took, divided by what all other operations took.
  double added_work() const {
    const auto others = static_cast<double>(work - recomputed_work);
    return others > 0 ? static_cast<double>(recomputed_work) / others : 0;
  }
  // The counts and the time since `earlier`, if reset_peaks() was not called meanwhile; `queued`, `peak_queued` and
  // `record_bytes` stay as they are.
  EngineFigures since(const EngineFigures& earlier) const;
};
// Does not block.
EngineFigures engine_figures();

// Describes in text what the engine does at this moment: which operations are queued, what the oldest ones wait for,
// what every thread does, and what holds the memory of each device. Returns within some milliseconds, even if every
// thread hangs. Do not call it from a signal handler.
std::string engine_report();

}  // namespace asyncgrad
