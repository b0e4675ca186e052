#include "asyncgrad/core/profile/profile.h"

#include <chrono>
#include <memory>
#include <new>
#include <utility>

#include "asyncgrad/core/profile/records.h"
#include "asyncgrad/core/sync/fork_locks.h"
#include "asyncgrad/core/sync/mutex.h"
#include "asyncgrad/core/sync/spin_lock.h"

namespace asyncgrad::detail::profile {

namespace {

// A thread's records, and whether the thread is writing them at this moment.
struct alignas(128) Buffer {
  ThreadRecords records;
  std::atomic<bool> writing{false};  // see Recording
};

struct Buffers {
  Buffers() { ForkLocks::add(mutex, ForkLocks::Kind::inner); }

  Mutex mutex;
  // The buffers, in the order of their first record. They are kept until the process ends.
  std::vector<std::unique_ptr<Buffer>> all ASYNCGRAD_GUARDED_BY(mutex);
};
Buffers& buffers() {
  static Buffers* const made = new Buffers;  // never destroyed, because threads may outlive main
  return *made;
}
const bool has_buffers = made_at_load(buffers);

thread_local Buffer* own_buffer = nullptr;
constinit thread_local const char* own_name = "";

Buffer& this_buffer() {
  if (own_buffer != nullptr) return *own_buffer;
  Buffers& made = buffers();
  const MutexLock lock(made.mutex);
  made.all.push_back(std::make_unique<Buffer>());
  own_buffer = made.all.back().get();
  own_buffer->records.name = own_name;
  return *own_buffer;
}

// While it lives, the calling thread may append to its records, if recording is still on. The thread sets `writing` and
// then reads whether recording is on; stop() turns recording off and then reads every thread's `writing`. Both are
// store-then-load and sequentially consistent, so that one sees the other. The end is a release, which stop() acquires:
// from then on only stop() uses the records.
class Recording {
 public:
  Recording() : buffer_(this_buffer()) {
    buffer_.writing.store(true, std::memory_order_seq_cst);
    is_on_ = is_recording(recording.load(std::memory_order_seq_cst));
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording() { buffer_.writing.store(false, std::memory_order_release); }

  explicit operator bool() const { return is_on_; }
  ThreadRecords& operator*() const { return buffer_.records; }

 private:
  Buffer& buffer_;
  bool is_on_;
};

// Appends to the calling thread's records if recording is on.
template <class Append>
void record(const Append& append) noexcept {
  try {
    if (const Recording records; records) append(*records);
  } catch (const std::bad_alloc&) {  // the record is dropped
  }
}

}  // namespace

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void start() { recording.fetch_add(1, std::memory_order_seq_cst); }

std::vector<ThreadRecords> stop() {
  recording.fetch_add(1, std::memory_order_seq_cst);
  this_buffer();
  std::vector<ThreadRecords> taken;
  Buffers& made = buffers();
  const MutexLock lock(made.mutex);
  for (const auto& buffer : made.all) {
    while (buffer->writing.load(std::memory_order_seq_cst)) pause_briefly();  // a hook is some dozens of instructions
    ThreadRecords& records = buffer->records;
    records.is_front_end = buffer.get() == own_buffer;
    if (!records.is_front_end && records.is_empty()) continue;
    taken.push_back(std::exchange(records, ThreadRecords{.name = records.name}));
  }
  return taken;
}

void name_this_thread(const char* name) { own_name = name; }

void record_operation(OperationRecord&& operation) noexcept {
  record([&operation](ThreadRecords& records) { records.operations.push_back(std::move(operation)); });
}

void record_dependency(std::uint64_t number, std::uint64_t on) noexcept {
  record([=](ThreadRecords& records) { records.dependencies.push_back({number, on}); });
}

void record_moment(std::uint64_t number, Event event) noexcept {
  record([=](ThreadRecords& records) { records.moments.push_back({number, now_ns(), event}); });
}

void record_tile(std::uint64_t number, int tile, std::int64_t begin_ns) noexcept {
  const std::int64_t end_ns = now_ns();
  record([=](ThreadRecords& records) { records.tiles.push_back({number, tile, begin_ns, end_ns}); });
}

void record_on_device(const DeviceRecord& on_device) noexcept {
  record([&on_device](ThreadRecords& records) { records.on_device.push_back(on_device); });
}

void record_wait(std::int64_t begin_ns) noexcept {
  const std::int64_t end_ns = now_ns();
  record([=](ThreadRecords& records) { records.waits.push_back({begin_ns, end_ns}); });
}

void record_live(const void* allocator, std::int64_t live_bytes) noexcept {
  record([=](ThreadRecords& records) { records.live.push_back({allocator, now_ns(), live_bytes}); });
}

}  // namespace asyncgrad::detail::profile
