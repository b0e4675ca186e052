// A world whose ranks are threads of the test.
//
// They share one engine, whose program order is a mixture of theirs. So an operation of one rank may be older than one of
// another rank that it waits for, which no process's own order allows. Hence there is no budget here, which would hold
// back the younger one, and the queue has room for all. Each rank has its own tensors, as a process would.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "asyncgrad/core/engine.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/random.h"
#include "asyncgrad/dist/communicator.h"
#include "asyncgrad/dist/transport.h"
#include "asyncgrad/dist/world.h"

namespace asyncgrad::tests {

// Where the ranks meet. A call is numbered by how many each rank has made before.
class MeetingPoint {
 public:
  explicit MeetingPoint(int size) : size_(size) {}
  int size() const { return size_; }

  void bring(int rank, std::uint64_t call, std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    calls_[call].brought[rank].assign(bytes.begin(), bytes.end());
  }
  // Once all have brought theirs, shows them to the rank. The last one to look ends the call.
  bool take(int rank, std::uint64_t call, const std::function<void(int from, std::span<const std::byte>)>& show) {
    const std::lock_guard lock(mutex_);
    Call& all = calls_[call];
    if (static_cast<int>(all.brought.size()) < size_) return false;
    for (const auto& [from, bytes] : all.brought) show(from, bytes);
    all.taken.insert(rank);
    if (static_cast<int>(all.taken.size()) == size_) calls_.erase(call);
    return true;
  }
  std::vector<int> silent(std::uint64_t call) {
    const std::lock_guard lock(mutex_);
    std::vector<int> ranks;
    for (int rank = 0; rank < size_; ++rank) {
      if (!calls_[call].brought.contains(rank)) ranks.push_back(rank);
    }
    return ranks;
  }

 private:
  struct Call {
    std::map<int, std::vector<std::byte>> brought;
    std::set<int> taken;
  };

  const int size_;
  std::mutex mutex_;
  std::map<std::uint64_t, Call> calls_;
};

class ThreadTransport final : public dist::Transport {
 public:
  ThreadTransport(std::shared_ptr<MeetingPoint> point, int rank) : point_(std::move(point)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return point_->size(); }
  void exchange(std::span<const std::byte> mine, std::span<std::byte> all) override {
    moves_ = false;
    begin(mine, [all, size = mine.size()](int from, std::span<const std::byte> bytes) {
      std::memcpy(&all[static_cast<std::size_t>(from) * size], bytes.data(), size);
    });
  }
  void all_to_all(const std::byte* values, std::byte* received, const dist::Slices& slices) override {
    const auto own = static_cast<std::size_t>(rank_);
    const std::int64_t first = slices[own], size = slices[own + 1] - first;
    note_move({received, static_cast<std::size_t>(size * (point_->size() - 1))});
    begin({values, static_cast<std::size_t>(slices.back())},
          [=, rank = rank_](int from, std::span<const std::byte> bytes) {
            if (size == 0 || from == rank) return;
            std::byte* const place = received + (from < rank ? from : from - 1) * size;
            std::memcpy(place, bytes.data() + first, static_cast<std::size_t>(size));
          });
  }
  void all_gather(std::byte* values, const dist::Slices& slices) override {
    const auto own = static_cast<std::size_t>(rank_);
    note_move({values, static_cast<std::size_t>(slices.back())});
    begin({values + slices[own], static_cast<std::size_t>(slices[own + 1] - slices[own])},
          [values, slices](int from, std::span<const std::byte> bytes) {
            if (!bytes.empty())
              std::memmove(values + slices[static_cast<std::size_t>(from)], bytes.data(), bytes.size());
          });
  }
  bool done() override { return !(is_stuck && moves_) && point_->take(rank_, calls_ - 1, show_); }
  std::vector<int> silent() override { return point_->silent(calls_ - 1); }
  void end() override {}
  void abort() noexcept override {}

  // No move of values is over any more. Then `late` has the memory to which it may still write.
  static inline std::atomic<bool> is_stuck = false;
  static inline std::vector<std::span<std::byte>> late;

 private:
  void note_move(std::span<std::byte> written) {
    static std::mutex mutex;
    moves_ = true;
    if (!is_stuck) return;
    const std::lock_guard lock(mutex);
    late.push_back(written);
  }
  using Show = std::function<void(int from, std::span<const std::byte> bytes)>;
  void begin(std::span<const std::byte> mine, Show show) {
    show_ = std::move(show);
    point_->bring(rank_, calls_++, mine);
  }

  const std::shared_ptr<MeetingPoint> point_;
  const int rank_;
  std::uint64_t calls_ = 0;
  bool moves_ = false;  // the call under way
  Show show_;
};

// Runs `body` as each of `size` ranks, on a thread for each, and waits until all have ended. Throws what one of them
// throws, that of the lowest rank.
inline void as_ranks(int size, const std::function<void(const dist::World&)>& body, double timeout_s = 60) {
  dist::Communicator::ranks_in_process = 8;
  EngineOptions options = engine_options();
  if (!options.memory_budget.is_unbounded()) {
    options.memory_budget = MemoryBudget::unbounded();
    set_engine_options(options);
  }
  const auto point = std::make_shared<MeetingPoint>(size);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      Generator generator(static_cast<std::uint64_t>(rank));
      const GeneratorScope scope(generator);
      const auto communicator = std::make_shared<dist::Communicator>(
          [point, rank] { return std::make_unique<ThreadTransport>(point, rank); }, timeout_s);
      try {
        body(dist::World(communicator));
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
      }
      try {
        communicator->token().wait();  // for all of this rank's collectives
      } catch (const Error&) {         // the body knows
      }
      communicator->end();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error != nullptr) std::rethrow_exception(error);
  }
}

}  // namespace asyncgrad::tests
