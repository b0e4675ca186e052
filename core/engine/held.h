// Operations that could be computed now and that nobody is offered yet. Internal.
#pragma once

#include <atomic>
#include <cstdint>

namespace asyncgrad::detail {

class Stream;

// Short operations of one stream that wait for nothing: the last that were queued. Offered one by one they would be
// computed by a thread right behind the one that queues, and each would take from the other, with each operation, the
// lines of records, of storages and of the ready set. So they are offered together, when they are many, when there is
// something longer to compute, when a thread waits, or when a worker is about to sleep. And who waits for the first of
// them at once computes it itself, before another thread hears of it.
//
// Thread safety: under the front end's lock; any() without it is a hint. Hence relaxed throughout.
class Held {
 public:
  static constexpr std::uint64_t most = 64;  // so far apart, at most; worth telling another thread

  struct Batch {
    Stream* stream;
    std::uint64_t first, operations;  // bit i: `first` + i is one of them
  };

  bool any() const { return batch_.load(std::memory_order_relaxed) != 0; }
  // Of a new operation: whether it can be held with them.
  bool goes_with(const Stream& stream, std::uint64_t number) const {
    return &stream == stream_ && number - first_ < most;
  }
  std::uint64_t first() const { return first_; }
  // One that goes with the others, if there are any.
  void add(Stream& stream, std::uint64_t number) {
    const std::uint64_t batch = batch_.load(std::memory_order_relaxed);
    if (batch == 0) {
      stream_ = &stream;
      first_ = number;
    }
    batch_.store(batch | std::uint64_t{1} << (number - first_), std::memory_order_relaxed);
  }
  Batch batch() const { return {stream_, first_, batch_.load(std::memory_order_relaxed)}; }
  // After they were offered.
  void clear() { batch_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> batch_{0};
  std::uint64_t first_ = 0;
  Stream* stream_ = nullptr;
};

}  // namespace asyncgrad::detail
