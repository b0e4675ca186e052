// Failures and the values they poison. Internal.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "asyncgrad/core/engine/admission/device_state.h"

namespace asyncgrad::detail {

// Why a value could not be computed. Shared by the values that it poisoned and, until recover(), the list of failures.
struct Failure {
  std::uint64_t number;  // of the operation, in program order
  std::string message;
  std::uint64_t made = 0;  // the how manieth: operations run at the call share a number, in this order
  std::atomic<int> references{1};
  std::atomic<bool> delivered{false};  // relaxed: a flag for reports; the message is constant

  bool is_older_than(const Failure& other) const {
    return number != other.number ? number < other.number : made < other.made;
  }
};

// All failures since the last recover(), and all storages that hold a poisoned value.
//
// Thread safety: any thread may call any function; a storage's own fields are touched under the rule at
// Storage::failure. The lock is held for short, and never by a caller that waits.
class Failures final : public PoisonedValues {
 public:
  // A failure that nobody has been told of. The caller has a share of it, to let go of when it has poisoned with it:
  // another thread may be told of it, and forget it, at once.
  Failure* add(std::uint64_t number, std::string message);
  void let_go(Failure& failure) { release(failure); }

  // Poisons the value of `storage`. An older failure that it already has stays. `bytes_are_old`: they are still those
  // of the valid value before.
  void poison(Storage& storage, Failure& cause, bool bytes_are_old);
  // The value was overwritten whole, or the storage ends.
  void cure(Storage& storage) noexcept override;

  // Throws the failure as an Error, which is then delivered.
  [[noreturn]] void deliver(Failure& failure);
  // Delivers the oldest failure that nobody has been told of, if there is one.
  void deliver_oldest();
  // Makes values whose bytes are old valid again, and forgets the failures. While nothing runs. How many were
  // undelivered.
  int recover();
  // The messages that nobody has been told of, oldest first.
  std::vector<std::string> undelivered() const;

 private:
  static void release(Failure& failure);
  void forget_delivered();  // under the lock; values that they poisoned keep them

  mutable std::mutex mutex_;  // over everything below
  std::vector<Failure*> failures_;
  std::uint64_t made_ = 0;
  std::unordered_set<Storage*> poisoned_;
};

}  // namespace asyncgrad::detail
