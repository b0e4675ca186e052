// The engine behind core/engine.h. Internal.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "asyncgrad/core/engine.h"
#include "asyncgrad/core/engine/crew.h"
#include "asyncgrad/core/engine/dry_run.h"
#include "asyncgrad/core/engine/operation.h"
#include "asyncgrad/core/engine/pending.h"
#include "asyncgrad/core/engine/ready_set.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/storage/device_state.h"

namespace asyncgrad::detail {

// The ring of operations, their dependencies, and how they run. One for the process, never destroyed.
//
// Thread safety: the public functions may be called by any thread, but while one thread sets options no other may
// queue. Front ends share `front_end_`, a short lock that workers never take and nobody holds while waiting; it orders
// the numbers, dependencies and serial levels. Invariants:
// 1. `oldest_` (f) only grows; every operation older than it is finished, with all that it did visible to whoever reads
// f.
// 2. An operation is published as finished after it has returned its memory and settled its values, and before its
//    successors can become ready.
// 3. next_ - oldest_ is at most the queue's capacity, which is at most the number of slots.
class Engine final : public Work {
 public:
  static Engine& get();

  // See submit.h.
  void submit(Op op, std::span<const OperandRef> operands, const void* attributes, std::size_t size_bytes,
              Location where);
  // Copies the user's values into a storage that nothing has written. May wait for room in memory.
  void hand_over(Storage& storage, const Shape& shape, const void* values, std::size_t size_bytes, Location where);

  // Waits for the last write to `storage` queued so far; throws the cause if its value is poisoned.
  void wait(Storage& storage);
  // Waits for everything older than `number`; throws nothing.
  void wait_for_all_before(std::uint64_t number);
  void wait_all();
  int recover();
  std::uint64_t next_number();
  // Tells the workers of the last operation, if it is tiny and they were not told. The next queueing or wait does so,
  // too: this is for who only looks whether it is finished.
  void announce();

  void set_options(const EngineOptions& options);
  EngineOptions options() const { return options_; }
  EngineFigures figures();
  void reset_peaks(DeviceState& device);
  Failures& failures() { return failures_; }

  bool is_dry_run() const { return options_.schedule == Schedule::dry_run; }
  DryRunReport dry_run_report(const DeviceState& device);

  // What is unfinished, in program order; some of it may be finished by the time of the answer.
  std::vector<PendingOperation> pending();

  // For tests: called before each operation that is to be computed, with its number, or at the call with the next one;
  // what it throws is the operation's failure. Null: nothing.
  void set_hook(void (*before_kernel)(std::uint64_t number)) { hook_.store(before_kernel, std::memory_order_release); }

  // Work.
  bool run_one(std::uint64_t limit, std::uint64_t& next) override;
  void put_back(std::uint64_t next) override;
  bool has_ready() const override;
  bool reached(const Goal& goal) const override;
  std::uint64_t enter_thread() override;
  void leave_thread(std::uint64_t previous) override;

 private:
  static constexpr int edges_in_block = 256;
  static constexpr std::uint64_t most_to_catch_up = 64;  // operations
  enum class Outcome : std::uint8_t { ran, refused, gone };

  // The engine's life (lifecycle.cpp):
  Engine();
  static void install_handlers();
  void make_ring();
  void before_fork();
  void after_fork(bool in_child);
  void at_exit();
  static bool& is_exiting_thread() {
    thread_local bool is_exiting = false;
    return is_exiting;
  }

  // Seconds that the calling thread has waited, or computed while it waited.
  static double& waited_s() {
    thread_local double seconds = 0;
    return seconds;
  }

  // The front end (engine.cpp, dependencies.cpp), under its lock:
  bool catch_up(std::span<const OperandRef> operands, std::unique_lock<SpinLock>& lock);
  bool inputs_finished(std::span<const OperandRef> operands);
  bool run_at_call(const Kernel& kernel, Op op, std::span<const OperandRef> operands, const void* attributes,
                   Location where);
  void compute_at_call(DeviceState& device, Invocation& invocation, Location where);
  void note_level_at_call(DeviceState& device);
  bool has_room();
  void note_peak_queued();
  bool take_unannounced();
  Operation& queue(const Kernel& kernel, Op op, std::span<const OperandRef> operands, const void* attributes,
                   std::size_t size_bytes, Location where);
  void place_operands(Operation& operation, std::span<const OperandRef> operands);
  void link(Operation& operation);
  void depend_on(Operation& operation, std::uint64_t number);
  void depend_on_readers(Operation& operation, const Storage& storage);
  Edge& new_edge(Operation& operation);
  void drop_edge(Operation& operation);
  bool seen_finished(std::uint64_t number) const;
  void recycle(Operation& operation);
  void note_serial_level(DeviceState& device);

  // Execution (execute.cpp), by whoever computes:
  // `next`: an operation that became ready on the way and that nobody is told of, as the calling thread goes on with
  // it: the oldest of all. 0: none.
  Outcome try_run(std::uint64_t number, std::uint64_t& next);
  Outcome start(Operation& operation, bool is_member, std::uint64_t& next);
  bool take_or_park(Operation& operation, bool is_member);
  void make_ready_again(Operation& operation, bool is_member);
  void open(Operation& operation);
  void run_tile_of(Operation& operation, int tile, std::uint64_t& next);
  void complete(Operation& operation, Failure* failure, bool started, std::uint64_t& next);
  int release_successors(Operation& operation, std::uint64_t& next);
  void make_ready(Operation& operation);
  bool advance_oldest();
  void retry_refused();
  Failure* fail(const Invocation& invocation, std::uint64_t number);

  void wait_until(const Goal& goal, std::uint64_t limit);
  bool finished(std::uint64_t number) const;
  void throw_if_immediate(std::span<const OperandRef> operands);
  Operation& at(std::uint64_t number) { return ring_[number & slot_mask_]; }
  const Operation& at(std::uint64_t number) const { return ring_[number & slot_mask_]; }
  std::size_t slot(std::uint64_t number) const { return number & slot_mask_; }

  // Takes the place of a list of successors that accepts no more.
  static Edge* closed_list() {
    static Edge mark;
    return &mark;
  }

  EngineOptions options_;
  Crew crew_{*this};
  Failures failures_;
  DryRun dry_run_{failures_};
  std::size_t slot_mask_ = 0;
  std::vector<Operation> ring_;
  std::unique_ptr<ReadySet> ready_;          // ready, and open with tiles left; under first_ready the open ones only
  std::unique_ptr<ReadyQueue> ready_queue_;  // under first_ready: ready

  // The front end's.
  alignas(128) SpinLock front_end_;
  std::atomic<std::uint64_t> next_{1};  // the number of the next operation; written under the lock, relaxed
  std::array<Operand, 16> operands_at_call_;
  FurtherEdge* free_edges_ = nullptr;
  std::vector<std::unique_ptr<FurtherEdge[]>> edge_blocks_;
  std::uint64_t oldest_seen_ = 1;  // f as it was: reading it anew takes its line away from the workers
  // The last operation was tiny, ready, and nobody computed: the thread that queued it may want to wait for it now, or
  // queue more. No other can wait for it without computing it.
  std::uint64_t unannounced_ = 0;  // its number
  std::uint64_t last_long_ = 0;    // the youngest operation that is not tiny
  std::int64_t inlined_ = 0;
  std::int64_t peak_queued_ = 0;

  // Shared.
  alignas(128) std::atomic<std::uint64_t> oldest_{1};  // f. Sequentially consistent; see Admission's invariant 3
  alignas(128) std::atomic<bool> refused_{false};      // somebody was refused; sequentially consistent with f
  // Read by everybody, hardly ever written.
  alignas(128) std::atomic<bool> exiting_{false};  // start nothing more
  std::atomic<void (*)(std::uint64_t)> hook_{nullptr};
};

}  // namespace asyncgrad::detail
