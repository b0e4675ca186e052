// The operations that a thread may start or join now, and in which order threads come to them. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "asyncgrad/core/engine/ring/ring.h"
#include "asyncgrad/core/engine/schedule/ready_set.h"
#include "asyncgrad/core/sync/spin_lock.h"

namespace asyncgrad::detail {

// The numbers of one executor's operations that are ready or have tiles to join. When two threads reach an operation at
// once, its number may stay although it is not ready any more: a thread that finds it sees so in the word of the
// entry. Any thread may call any function.
class Ready {
 public:
  // One thread's way through what is ready.
  struct Search {
    std::uint64_t first;               // f when the search began
    std::uint64_t limit = UINT64_MAX;  // the largest number that the thread may run
    std::size_t skip = 0;              // how many numbers from `first` on are done
    std::ptrdiff_t tries_left = -1;    // how many of the line to try; -1: not counted yet
    int refusals = 0;
  };

  Ready() = default;
  Ready(const Ready&) = delete;
  Ready& operator=(const Ready&) = delete;
  virtual ~Ready() = default;

  virtual void add(std::uint64_t number) = 0;
  // Adds `first` + i where bit i is set.
  virtual void add_all(std::uint64_t first, std::uint64_t operations) = 0;
  // Called when the operation has begun: other threads may join its tiles until remove().
  virtual void open(std::uint64_t number) = 0;
  virtual void remove(std::uint64_t number) = 0;
  // Returns the next number of a search, 0 if there is none. Its operation may be taken by now, or be refused.
  virtual std::uint64_t next(Search& search) = 0;
  // Does the same among the operations that threads wait for, see Awaited.
  virtual std::uint64_t next_awaited(Search& /*search*/) { return 0; }
  // Does the same among operations that have begun, and perhaps others.
  virtual std::uint64_t next_open(Search& search) = 0;
  // Called when admission has refused the operation that next() returned. Returns false if the search is not likely to
  // find another one.
  virtual bool goes_on_after_refusal(Search& search) const = 0;
  virtual bool any() const = 0;  // a hint
  // Prefetches what a search from f reads first.
  virtual void prefetch(std::uint64_t /*first*/) const {}
};

// Yields the oldest operation in the order of the program first.
class ReadyInOrder final : public Ready {
 public:
  explicit ReadyInOrder(const Ring& ring) : ring_(ring), members_(ring.slots()) {}

  void add(std::uint64_t number) override { members_.insert(ring_.slot(number)); }
  void add_all(std::uint64_t first, std::uint64_t operations) override {
    members_.insert_all(ring_.slot(first), operations);
  }
  void open(std::uint64_t number) override { add(number); }
  void remove(std::uint64_t number) override { members_.erase(ring_.slot(number)); }
  std::uint64_t next(Search& search) override { return next(search, nullptr); }
  std::uint64_t next_awaited(Search& search) override { return next(search, &ring_.awaited()); }
  std::uint64_t next_open(Search& search) override { return next(search, nullptr); }
  bool goes_on_after_refusal(Search& search) const override { return ++search.refusals < max_refusals; }
  bool any() const override { return members_.nearest(0, 0) >= 0; }
  void prefetch(std::uint64_t first) const override { members_.prefetch(ring_.slot(first)); }

 private:
  static constexpr int max_refusals = 4;  // what is younger is not likely to fare better

  std::uint64_t next(Search& search, const Awaited* among) const;

  const Ring& ring_;
  ReadySet members_;
};

// Yields what became ready first; threads join tiles when nothing else is ready.
class ReadyByArrival final : public Ready {
 public:
  explicit ReadyByArrival(const Ring& ring) : line_(ring.slots()), open_(ring) {}

  void add(std::uint64_t number) override;
  void add_all(std::uint64_t first, std::uint64_t operations) override;
  void open(std::uint64_t number) override { open_.add(number); }
  void remove(std::uint64_t number) override { open_.remove(number); }
  std::uint64_t next(Search& search) override;
  std::uint64_t next_open(Search& search) override { return open_.next(search); }
  // Each operation is tried once. An operation that finds no memory goes to the end of the queue, because one behind it
  // may return what it needs.
  bool goes_on_after_refusal(Search&) const override { return true; }
  bool any() const override;

 private:
  std::uint64_t take_first(Search& search);

  mutable SpinLock lock_;
  std::vector<std::uint64_t> line_ ASYNCGRAD_GUARDED_BY(lock_);  // a ring: as many places as operations can be queued
  std::uint64_t begin_ ASYNCGRAD_GUARDED_BY(lock_) = 0, end_ ASYNCGRAD_GUARDED_BY(lock_) = 0;
  ReadyInOrder open_;
};

}  // namespace asyncgrad::detail
