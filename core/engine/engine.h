// The engine behind core/engine.h. Internal.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "asyncgrad/core/engine.h"
#include "asyncgrad/core/engine/front_end/batch.h"
#include "asyncgrad/core/engine/front_end/dry_run.h"
#include "asyncgrad/core/engine/record/operation.h"
#include "asyncgrad/core/engine/record/pending.h"
#include "asyncgrad/core/engine/record/ring.h"
#include "asyncgrad/core/engine/schedule/devices.h"
#include "asyncgrad/core/engine/schedule/pool.h"
#include "asyncgrad/core/engine/submit.h"

namespace asyncgrad::detail {

// The operations, what they wait for, and the streams that they run on. One for the process, never destroyed.
//
// Thread safety: the public functions may be called by any thread, but while one thread sets options no other may
// queue. Front ends share `front_end_`, a short lock that workers only try to take and nobody holds while waiting;
// it orders the numbers, dependencies and serial levels. Invariants:
// 1. An operation is published as finished after it has returned its memory and settled its values, and before its
//    successors can become ready.
// 2. At most queue_capacity operations are unfinished, which is at most the number of slots of the ring.
class Engine final {
 public:
  static Engine& get() {
    // Acquire: it is seen whole.
    Engine* const engine = instance.load(std::memory_order_acquire);
    return engine != nullptr ? *engine : make();
  }

  // See submit.h.
  void submit(const Submission& submission);
  // Copies the user's values into a storage that nothing has written. May wait for room in memory.
  void hand_over(Storage& storage, const Shape& shape, const void* values, std::size_t size_bytes, Location where);

  // Waits for the last write to `storage` queued so far; throws the cause if its value is poisoned.
  void wait(Storage& storage);
  // Waits for everything older than `number`; throws nothing.
  void wait_for_all_before(std::uint64_t number);
  void wait_all();
  int recover();
  std::uint64_t next_number();
  // Lets the last operations be computed, if they are held. So does who waits, and queueing, once there is more to
  // compute: this is for who only looks whether they are finished.
  void announce() { offer_held(nullptr); }

  void set_options(const EngineOptions& options);
  EngineOptions options() const { return options_; }
  EngineFigures figures();
  void reset_peaks(DeviceState& device);
  Failures& failures() { return failures_; }

  bool is_dry_run() const { return is_dry_run_.load(std::memory_order_relaxed); }
  DryRunReport dry_run_report(const DeviceState& device);

  // What is unfinished, in program order; some of it may be finished by the time of the answer.
  std::vector<PendingOperation> pending();

  // For tests: called before each operation that is to be computed, with its number, or at the call with the next one;
  // what it throws is the operation's failure. Null: nothing.
  void set_hook(void (*before_kernel)(std::uint64_t number)) { hook_.store(before_kernel, std::memory_order_release); }

  // --- For streams. ---
  Ring& ring() { return ring_; }
  const Ring& ring() const { return ring_; }
  bool reached(const Goal& goal) const;
  // The process is about to end: start nothing more. Sequentially consistent, as the exit first forbids starts and then
  // looks for threads on a seat.
  bool is_exiting() const { return exiting_.load(std::memory_order_seq_cst); }
  // Some thread of the program waits for something, or computes to get on.
  bool is_awaited() const { return guests_.load(std::memory_order_seq_cst) > 0; }
  auto hook() const { return hook_.load(std::memory_order_acquire); }
  // Some thread computes, or some device does, other than the calling thread on a seat of `stream`.
  bool others_compute(Stream& stream);
  // A failure of which the caller has a share, with the message of the exception that is being handled.
  Failure* fail(const Invocation& invocation, std::uint64_t number);
  // The operation has ended. `started`: its kernel may have written.
  void complete(Stream& stream, Operation& operation, Failure* failure, bool started, Turn& turn);
  // The same where values are settled and operands released.
  void finish(Stream& stream, Operation& operation, bool has_failed, Turn& turn);
  // Closes the list. How many became ready for other threads of `stream`, which are not told: this one goes on with the
  // first.
  int release_successors(Stream& stream, std::atomic<Edge*>& successors, Turn& turn);
  // Of all, on the device whose memory it takes.
  bool is_oldest(const Operation& operation) const;
  // Lets what is held be computed, and tells of it, but not the workers of the stream that the calling thread is about
  // to compute for.
  void offer_held(const Stream* computed_for);
  // The same for a worker of `stream`, which must not wait for the front end's lock. False if nothing of its stream was
  // held, for it to compute.
  bool try_to_offer_held(const Stream& stream);
  // An operation was refused, of a stream that has noted that for itself.
  void note_refused() { refused_.store(true, std::memory_order_seq_cst); }
  // Of an operation that is unfinished there is no memory on `device`, a part of the CPU: the others may have some.
  void trim_other_parts(const DeviceState& device);
  // Memory was returned, or f has made a step, or a limit is higher.
  void retry_refused() {
    if (refused_.load(std::memory_order_seq_cst)) retry_all_refused();
  }

  // --- For Devices and tests. ---
  // A device of a backend with queues of its own, in use from here on. Waits until everything is finished. Throws Error
  // if there is none of that name.
  DeviceState& add_device(Device device);
  // For tests: a backend in place of the library's, or null again: its devices are not in use any more. Waits until
  // everything is finished; no other thread may use the library meanwhile.
  void replace_backend(DeviceType type, const Backend* backend);
  // Gives cached memory back to the system.
  void trim_cache(DeviceState& device);

 private:
  static constexpr int edges_in_block = 256;
  static constexpr int most_streams = 32;
  static constexpr std::uint64_t most_own = 64;  // put back in one step

  // The engine's life (lifecycle.cpp):
  static Engine& make();  // or the one that another thread has just made
  Engine();
  static void install_handlers();
  void set_up();
  void set_up_devices();
  void set_up_device(DeviceState& device);
  void set_up_orders();
  Stream* add_stream(std::unique_ptr<Stream> stream, int workers, bool may_spin, std::string name);
  // Any thread, at any time.
  std::span<const std::unique_ptr<Stream>> streams() const {
    return std::span(streams_).first(static_cast<std::size_t>(stream_count_.load(std::memory_order_acquire)));
  }
  void wait_until_idle() ASYNCGRAD_ACQUIRE(front_end_);
  void stop_streams();
  // The front end's lock is held from the one to the other: no scope that the analysis could follow.
  void before_fork() ASYNCGRAD_NO_THREAD_SAFETY_ANALYSIS;
  void after_fork(bool in_child) ASYNCGRAD_NO_THREAD_SAFETY_ANALYSIS;
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

  // The front end (engine.cpp, at_call.cpp, dependencies.cpp), under its lock:
  bool catch_up(Stream& stream, std::span<const OperandRef> operands, std::unique_lock<SpinLock>& lock);
  bool is_finished(const OperandRef& ref);
  bool run_at_call(Stream& stream, const Kernel& kernel, const Submission& submission,
                   std::unique_lock<SpinLock>& lock);
  void compute_at_call(Invocation& invocation, KernelCall& call, const Backend& backend, std::uint64_t number,
                       bool has_poison, const Location& where);
  void fail_at_call(Invocation& invocation, std::uint64_t number, bool started, const Location& where);
  void settle_at_call(const Invocation& invocation, Failure* failure, bool started);
  // What would be live now is part of the next operation's serial level.
  void note_level(DeviceState& device) {
    std::int64_t level = device.serial_live.total();
    if (level <= device.serial_since_queued) return;  // one as high was noted since the last was queued
    // Between two shards that it reads a thread may have let go of what another then made room for: it is there twice.
    if (device.admission->is_largest(level)) level = std::min(level, device.serial_live.total());
    device.serial_since_queued = std::max(device.serial_since_queued, level);
    if (device.admission->raise_level(level)) {
      device.allocator.set_limit(device.admission->limit());
      retry_refused();
    }
  }
  void forget_levels();
  // The front end's lock, for who asks for figures. Throws Error inside an operation, which may have it.
  std::unique_lock<SpinLock> lock_to_look();
  bool has_room(std::span<const OperandRef> operands);
  // The number that the device's next operation gets in the order that its admission goes by.
  std::uint64_t next_on(const DeviceState& device) const {
    return device.order == nullptr ? next_.load(std::memory_order_relaxed) : device.order->next();
  }
  void note_peak_queued();
  // Of how many operations the workers of a stream have to be told, outside of the lock.
  struct News {
    Stream* stream = nullptr;
    int count = 0;
  };
  News offer_batch();
  static void tell(const News& news, const Stream* computed_for) {
    if (news.count > 0 && news.stream != computed_for) news.stream->crew().notify(news.count);
  }
  void queue_and_offer(Stream& stream, const Kernel& kernel, const Submission& submission,
                       std::unique_lock<SpinLock>& lock);
  Operation& queue(Stream& stream, const Kernel& kernel, const Submission& submission);
  static void make_room_for_operands(Operation& operation, std::size_t count);
  void take_places(Operation& operation, const Submission& submission);
  void link(Operation& operation, std::span<const OperandRef> operands);
  void tie(Edge& edge, std::uint64_t number);
  static bool end_linking(Operation& operation);
  void depend_on_issue(Operation& operation, Operation& predecessor);
  void depend_on(Operation& operation, std::uint64_t number);
  void depend_on_readers(Operation& operation, const Storage& storage);
  Edge& new_edge(Operation& operation);
  FurtherEdge& new_further_edge(Operation& operation);
  // As `finished`, for the front end: asks f only where that decides. The records from oldest_seen_ on are still those
  // of their numbers.
  bool seen_finished(std::uint64_t number) const {
    // Acquire: the operation's results are seen.
    return number < oldest_seen_ || ring_.at(number).finished.load(std::memory_order_acquire) == number;
  }
  void recycle(Operation& operation);
  void note_serial_level(DeviceState& device, std::uint64_t number);

  // The end of an operation (complete.cpp):
  void publish(Operation& operation);
  bool sets_aside(Turn& turn, const Operation& operation) const;
  void retry_all_refused();

  void wait_until(const Goal& goal, std::uint64_t limit);
  Stream& stream_to_help(const Goal& goal);
  void finish_and_throw(std::span<const OperandRef> operands);

  // Takes the place of a list of successors that accepts no more.
  static Edge* closed_list() {
    static Edge mark;
    return &mark;
  }

  static inline constinit std::atomic<Engine*> instance{nullptr};

  EngineOptions options_;
  // Relaxed: others may wait while the options change, when nothing is unfinished and either answer is right.
  std::atomic<bool> is_dry_run_{false};
  Ring ring_;
  Waiters waiters_;
  Failures failures_;
  DryRun dry_run_{failures_};

  // The streams, the operations' of the first CPU device first. Some are added while others are at work: acquire and
  // release on their number.
  std::array<std::unique_ptr<Stream>, most_streams> streams_;
  std::atomic<int> stream_count_{0};
  // Threads of the program that are within a stream: who waits. Streams are taken down when there is none.
  std::atomic<int> guests_{0};
  std::vector<DeviceState*> devices_;  // in use; written while nothing is queued
  bool has_orders_ = false;            // each device has an order of its own, as there are several; likewise
  std::array<const Backend*, Devices::types> backends_{};  // of tests; null: the library's

  // The front end's.
  alignas(128) SpinLock front_end_;
  std::atomic<std::uint64_t> next_{1};  // the number of the next operation; written under the lock, relaxed
  std::array<Operand, 16> operands_at_call_;
  std::array<View, 16> views_at_call_;
  FurtherEdge* free_edges_ = nullptr;
  std::vector<std::unique_ptr<FurtherEdge[]>> edge_blocks_;
  std::uint64_t oldest_seen_ = 1;  // f as it was: reading it anew takes its line away from the workers
  Held held_;
  std::uint64_t last_long_ = 0;  // the youngest operation that is not tiny
  std::int64_t inlined_ = 0;
  std::int64_t peak_queued_ = 0;

  alignas(128) std::atomic<bool> refused_{false};  // on some stream; sequentially consistent with f
  // Read by everybody, hardly ever written.
  alignas(128) std::atomic<bool> exiting_{false};  // start nothing more
  std::atomic<void (*)(std::uint64_t)> hook_{nullptr};
};

}  // namespace asyncgrad::detail
