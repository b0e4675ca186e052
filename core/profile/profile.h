// The hooks by which the library reports to the profiler: one at each place where something happens to an operation.
// Internal.
//
// While nothing is recorded, each hook costs one relaxed load. Otherwise it reads the clock and appends to the calling
// thread's own records, without a lock. If there is no memory for a record, it is dropped: no hook throws. Thread
// safety: any thread may call any hook; start() and stop(), in records.h, are called by one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace asyncgrad::detail::profile {

struct DeviceRecord;
struct OperationRecord;
enum class Event : std::uint8_t { ready, refused, computed, failed };  // the last two: it ended, well or not

std::int64_t now_ns();

// Counts starts and stops, so that each has a number of its own. Relaxed: a hook that runs during a start or stop may
// or may not record; see Recording in profile.cpp.
inline std::atomic<std::uint32_t> recording{0};
inline std::uint32_t recording_number() { return recording.load(std::memory_order_relaxed); }
constexpr bool is_recording(std::uint32_t number) { return number % 2 != 0; }
inline bool is_on() { return is_recording(recording_number()); }

// An operation that was queued, under the front end's lock and before it can become ready; or one that was computed at
// its call. Making the record costs more than a load: ask is_on() first.
void record_operation(OperationRecord&& record) noexcept;
void record_dependency(std::uint64_t number, std::uint64_t on) noexcept;
void record_moment(std::uint64_t number, Event event) noexcept;
void record_tile(std::uint64_t number, int tile, std::int64_t begin_ns) noexcept;
void record_on_device(const DeviceRecord& record) noexcept;
void record_wait(std::int64_t begin_ns) noexcept;
void record_live(const void* allocator, std::int64_t live_bytes) noexcept;

// --- The hooks. ---

// Names the calling thread, which computes, from now on. The name must outlive the thread.
void name_this_thread(const char* name);

inline void depends(std::uint64_t number, std::uint64_t on) {
  if (is_on() && on != 0 && on != number) record_dependency(number, on);
}
// Called before other threads can see the operation as ready.
inline void ready(std::uint64_t number) {
  if (is_on()) record_moment(number, Event::ready);
}
// Called when admission refuses the operation for now.
inline void refused(std::uint64_t number) {
  if (is_on()) record_moment(number, Event::refused);
}
// Called before the operation is published as finished.
inline void ended(std::uint64_t number, bool failed) {
  if (is_on()) record_moment(number, failed ? Event::failed : Event::computed);
}
// Called by the launch thread, before the operation has `ended`.
inline void ran_on_device(const DeviceRecord& record) {
  if (is_on()) record_on_device(record);
}
// Called under the lock of the LiveRecording that reports, whose address `allocator` is.
inline void live(const void* allocator, std::int64_t live_bytes) {
  if (is_on()) record_live(allocator, live_bytes);
}

// Spans of time, from construction to destruction.
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
class WaitSpan : Span {
 public:
  WaitSpan() = default;
  ~WaitSpan() {
    if (was_on()) record_wait(begin_ns_);
  }
};

}  // namespace asyncgrad::detail::profile
