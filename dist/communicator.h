// The thread by which a process takes part in its world's collectives. Internal.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "asyncgrad/core/tensor.h"
#include "asyncgrad/dist/figures.h"
#include "asyncgrad/dist/overlap.h"
#include "asyncgrad/dist/transport.h"

namespace asyncgrad::dist {

class Communicator;

// Calls of the transport that wait for their end. Each wait ends: with the call, or after the time that the world's
// options allow, with an Error that names the ranks that gave no answer.
class Rounds {
 public:
  explicit Rounds(Communicator& communicator) : communicator_(communicator) {}
  void exchange(std::span<const std::byte> mine, std::span<std::byte> all);
  void all_to_all(const std::byte* values, std::byte* received, const Slices& slices);
  void all_gather(std::byte* values, const Slices& slices);

 private:
  Communicator& communicator_;
};

// What each rank tells all others before a collective.
struct Head {
  enum class Status : std::uint32_t { takes_part, has_failed, ends };

  std::uint64_t number = 0;
  std::uint64_t hash = 0;
  Status status = Status::takes_part;
  std::uint32_t flag = 0;
  std::uint64_t value = 0;  // for gather()
};
static_assert(sizeof(Head) == 32);

// What a rank does in one collective.
struct Task {
  std::uint64_t hash = 0;      // of all in which ranks must agree
  std::string_view text{};     // what the program called, and where
  std::string_view failure{};  // why this rank cannot take part with its values; empty if it can
  bool flag = false;           // is told to all ranks
  std::uint64_t value = 0;     // so is this
  // Moves the values, once all ranks have agreed. Called on the communicator's thread. `flagged`: a rank has the flag.
  std::function<void(Rounds& rounds, bool flagged)> move{};
};

// Throws Error in the name of `operation`, which the child of a fork has called.
[[noreturn]] void refuse_child(std::string_view operation);

// A rank's part in a world. A thread of its own makes the transport and calls it, and no other thread does, as
// MPI_THREAD_FUNNELED asks for. Each collective begins with 32 bytes from every rank: how many there were before, the
// task's hash, and whether the rank can take part. Only if all agree are values moved. Otherwise each rank sends a text,
// so that all throw the same cause.
//
// Thread safety: run() by one thread at a time; all other functions by any thread.
class Communicator {
 public:
  using Connect = std::function<std::unique_ptr<Transport>()>;

  // Starts the thread and waits until it is connected. Throws what `connect` throws.
  Communicator(Connect connect, double timeout_s);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  // How many ranks there are in this process: 1, unless a test has several, on threads.
  static inline int ranks_in_process = 1;  // NOLINT(readability-identifier-naming): a member

  int rank() const { return rank_; }
  int size() const { return size_; }
  // Relaxed: settings, which the next wait reads. See WorldOptions.
  void set_timeout(double timeout_s) { timeout_s_.store(timeout_s, std::memory_order_relaxed); }
  void set_link(double bytes_per_second) { bytes_per_second_.store(bytes_per_second, std::memory_order_relaxed); }
  Figures figures() const;

  // Throws Error in the name of `operation` in the child of a fork, and if no collective can run any more.
  void check(std::string_view operation) const;
  // Every collective's operation writes it, so that the engine runs them in the order of the program.
  const Tensor& token() const { return token_; }
  // Takes part in the next collective, and returns when it has ended. Throws Error if a rank fails, if the ranks'
  // programs differ, and if a rank gives no answer or has ended. After the last two no collective can run any more.
  void run(const Task& task);

  // Every rank's number, by rank. All ranks call it with the same text, which says what for, while nothing is queued.
  std::vector<std::uint64_t> gather(std::string_view text, std::uint64_t number);

  // Says that this rank has queued a part of what a call queues on all ranks: no collective can run any more.
  void leave(const char* why) noexcept;

  // Count the collectives that are queued and not over.
  void note_queued() { unfinished_.fetch_add(1, std::memory_order_relaxed); }
  void note_over() { unfinished_.fetch_sub(1, std::memory_order_relaxed); }

  // Called at the end of a rank: tells the others, waits for their end, and ends the thread. If collectives are
  // unfinished, or none can run any more, ends the processes of all ranks instead. A second call does nothing.
  void end();

 private:
  friend class Rounds;

  void serve(const Connect& connect);
  void perform(const Task& task);
  void move(const Task& task, Rounds& rounds);
  void say_goodbye();
  // Waits for the end of the call under way, and at least so long. `forever`: without a limit.
  void finish_call(double least_s = 0, bool forever = false);
  // The same for a call that moves a piece's values, by which this rank receives so many bytes.
  void finish_transfer(std::int64_t received_bytes);
  void look_at_computing();
  [[noreturn]] void fail_for_good(std::string why);
  // Not under the lock: the transport may end the process by exit(), whose handlers come here.
  [[noreturn]] void abort(const std::string& why) noexcept;

  const pid_t process_;
  const Tensor token_;
  std::atomic<double> timeout_s_;
  std::atomic<double> bytes_per_second_{0};
  // Relaxed: they are counts. The thread that ends the process has waited for the last collective, or has seen it queued.
  std::atomic<std::int64_t> unfinished_{0};
  // Relaxed: a sign of life of the thread, which the waiting thread compares with the last one it saw.
  std::atomic<std::uint64_t> polls_{0};

  mutable std::mutex mutex_;  // guards the next ones
  std::condition_variable changed_;
  const Task* task_ = nullptr;  // to be performed
  std::exception_ptr error_;    // of the last one, or of connecting
  bool is_connected_ = false, is_ending_ = false;
  bool is_aborting_ = false;  // it is ending, and not by a goodbye
  std::string broken_;        // why no collective can run any more; empty if they can; written once
  Figures figures_;

  // Of the thread alone, once it is connected.
  std::unique_ptr<Transport> transport_;
  std::uint64_t number_ = 0;  // of collectives so far
  std::vector<Head> heads_;   // of all ranks, and their texts: taken once, so that a collective needs no memory
  std::vector<char> texts_;
  Overlap overlap_;          // of the move under way
  bool has_values_ = false;  // it is that of a piece, and these are moved
  bool knows_end_ = false;   // some rank has said that it ends
  int rank_ = 0, size_ = 1;

  std::thread thread_;
};

}  // namespace asyncgrad::dist
