// What the engine tells the profiler: a line at each place where something happens to an operation. Internal.
//
// Off, each hook is one relaxed load. On, it reads the clock and appends to the calling thread's own records: no lock
// on the way. Thread safety: any thread may call any hook; start and stop by one thread at a time (core/profiler.cpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "asyncgrad/core/engine/record/operation.h"

namespace asyncgrad::detail::profile {

struct OperandRecord {
  Shape shape;
  DType dtype;
  Access access;
};
// An operation that was queued, or (number 0) computed at the call.
struct OperationRecord {
  std::uint64_t number = 0;
  std::int64_t queued_ns = 0;
  std::int64_t ended_ns = 0;  // of one computed at the call
  std::int64_t budget_bytes = 0;
  int tiles = 1;
  const char* name = "";
  Op op{};
  Origin origin{};
  std::vector<OperandRecord> operands{};

  std::int64_t operand_bytes() const {
    std::int64_t bytes = 0;
    for (const OperandRecord& operand : operands) {
      bytes += operand.shape.numel() * static_cast<std::int64_t>(size_bytes(operand.dtype));
    }
    return bytes;
  }
};
struct Dependency {
  std::uint64_t number, on;
};
enum class Event : std::uint8_t { ready, refused, computed, failed };  // the last two: it ended, well or not
struct Moment {
  std::uint64_t number;
  std::int64_t time_ns;
  Event event;
};
struct TileRecord {
  std::uint64_t number;
  int tile;
  std::int64_t begin_ns, end_ns;
};
// When an asynchronous device came to the begin and the end of an operation on its `queue`-th queue.
struct DeviceRecord {
  std::uint64_t number;
  Device device;
  int queue;
  std::int64_t begin_ns, end_ns;
};
struct WaitRecord {
  std::int64_t begin_ns, end_ns;
};
struct LiveRecord {
  const void* allocator;
  std::int64_t time_ns, live_bytes;
};

// What one thread has seen, in its order. Deques, as they grow without moving what they hold.
struct ThreadRecords {
  std::string name{};         // of a stream's thread; else empty
  bool is_front_end = false;  // it called stop()
  std::deque<OperationRecord> operations{};
  std::deque<Dependency> dependencies{};
  std::deque<Moment> moments{};
  std::deque<TileRecord> tiles{};
  std::deque<DeviceRecord> on_device{};
  std::deque<WaitRecord> waits{};
  std::deque<LiveRecord> live{};

  bool is_empty() const {
    return operations.empty() && moments.empty() && tiles.empty() && waits.empty() && live.empty();
  }
};

std::int64_t now_ns();

// Starts to record.
void start();
// Stops, waits until nobody is within a hook, and takes what was recorded: of the calling thread, and of those that
// recorded something, in the order of their first record.
std::vector<ThreadRecords> stop();

// Counts their starts and stops, so that each has a number of its own. Relaxed: whether a hook that runs just then
// records is left open; see Recording in profile.cpp.
inline std::atomic<std::uint32_t> recording{0};
inline std::uint32_t recording_number() { return recording.load(std::memory_order_relaxed); }
constexpr bool is_recording(std::uint32_t number) { return number % 2 != 0; }
inline bool is_on() { return is_recording(recording_number()); }

void record_queued(const Operation& operation);
void record_dependency(std::uint64_t number, std::uint64_t on);
void record_moment(std::uint64_t number, Event event);
void record_tile(std::uint64_t number, int tile, std::int64_t begin_ns);
void record_at_call(const Invocation& invocation, const Location& where, std::int64_t begin_ns);
void record_on_device(const DeviceRecord& record);
void record_wait(std::int64_t begin_ns);
void record_live(const void* allocator, std::int64_t live_bytes);

// --- The hooks. ---

// What the calling thread is called from here on: one of a stream.
void name_this_thread(std::string name);

// Under the front end's lock, before the operation can become ready.
inline void queued(const Operation& operation) {
  if (is_on()) record_queued(operation);
}
inline void depends(std::uint64_t number, std::uint64_t on) {
  if (is_on() && on != 0 && on != number) record_dependency(number, on);
}
// Before it can be seen as ready.
inline void ready(std::uint64_t number) {
  if (is_on()) record_moment(number, Event::ready);
}
// By admission, for now.
inline void refused(std::uint64_t number) {
  if (is_on()) record_moment(number, Event::refused);
}
// Before it is published as finished.
inline void ended(std::uint64_t number, bool failed) {
  if (is_on()) record_moment(number, failed ? Event::failed : Event::computed);
}
// By the launch thread, before it has `ended`.
inline void ran_on_device(const DeviceRecord& record) {
  if (is_on()) record_on_device(record);
}
// Under the allocator's lock.
inline void live(const void* allocator, std::int64_t live_bytes) {
  if (is_on()) record_live(allocator, live_bytes);
}

// What takes time: from construction to destruction.
class Span {
 public:
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 protected:
  static constexpr std::int64_t off = -1;
  Span() : begin_ns_(is_on() ? now_ns() : off) {}
  ~Span() = default;
  bool was_on() const { return begin_ns_ != off; }

  std::int64_t begin_ns_;
};
class TileSpan : Span {
 public:
  TileSpan(std::uint64_t number, int tile) : number_(number), tile_(tile) {}
  ~TileSpan() {
    if (was_on()) record_tile(number_, tile_, begin_ns_);
  }

 private:
  std::uint64_t number_;
  int tile_;
};
class CallSpan : Span {  // of an operation that is computed at the call
 public:
  CallSpan(const Invocation& invocation, const Location& where) : invocation_(invocation), where_(where) {}
  ~CallSpan() {
    if (was_on()) record_at_call(invocation_, where_, begin_ns_);
  }

 private:
  const Invocation& invocation_;
  const Location& where_;
};
class WaitSpan : Span {
 public:
  WaitSpan() = default;
  ~WaitSpan() {
    if (was_on()) record_wait(begin_ns_);
  }
};

}  // namespace asyncgrad::detail::profile
