// Failures and the values they poison. Internal.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "asyncgrad/core/engine/admission/device_state.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/sync/fork_locks.h"
#include "asyncgrad/core/sync/mutex.h"

namespace asyncgrad::detail {

// Why a value could not be computed. It is shared by the values that it poisoned, by the threads that are about to
// poison values with it and, until it is reported, by the list of failures. The lock of Failures guards everything but
// the message and its parts.
struct Failure {
  std::uint64_t number;  // of the operation, in program order
  std::string message;
  std::shared_ptr<const Error::Parts> parts{};
  std::uint64_t made = 0;  // its sequence number: operations that run at their call share a number, in this order
  int shares = 0;
  bool is_reported = false;  // or another failure reports the same cause
  bool is_listed = false;
  Failure* older = nullptr;  // its neighbours in the list
  Failure* younger = nullptr;

  bool is_older_than(const Failure& other) const {
    return number != other.number ? number < other.number : made < other.made;
  }
};

// The failures that were not reported since the last recover(), and all storages that hold a poisoned value.
//
// Thread safety: any thread may call any function at any time. Only functions that throw take memory. The lock is held
// for a short time, and never while its holder waits. Invariants, under the lock:
// 1. A storage is in the list of poisoned storages as long as it has a failure, of which it has a share. Setting the
//    failure to null is the last change: another thread that sees null may end the storage at once.
// 2. The list has the oldest failures that are not reported, at most `max_listed`, the oldest first. `unlisted_` counts
//    the others that were made since `forgotten_`.
class Failures final : public PoisonedValues {
 public:
  // Makes a failure that is not reported yet, of which the caller has a share. An empty message stands for a lack of
  // memory. If there is no memory for the failure, its message says so.
  Failure* add(std::uint64_t number, std::string message, std::shared_ptr<const Error::Parts> parts = nullptr) noexcept;
  // The same of an operation that computes a value again. If that failed the first time, too, its failure is the cause,
  // and is reported once: the message of the second begins with the first one's.
  Failure* add_again(std::uint64_t number, std::string message, std::shared_ptr<const Error::Parts> parts) noexcept;
  // Drops the failure: another one reports the same cause.
  void forget(Failure& failure) noexcept;
  // Gives up the caller's share.
  void let_go(Failure& failure) noexcept;
  // Returns the older one of `cause` and of the failure that poisons `storage`; either may be null. The caller gives up
  // its share of `cause` and gets one of the result.
  Failure* older_cause(const Storage& storage, Failure* cause) noexcept;

  // Poisons the value of `storage`. If it already has an older failure, that one stays. `bytes_are_old`: its bytes are
  // still those of the last valid value.
  void poison(Storage& storage, Failure& cause, bool bytes_are_old) noexcept;
  // Removes the poison: the whole value was overwritten, or the storage ends.
  void cure(Storage& storage) noexcept override;

  // Throws the failure as an Error, and counts it as reported. The caller has a share of it, or keeps a storage that
  // has one. Throws std::bad_alloc if there is no memory for the Error.
  [[noreturn]] void deliver(Failure& failure);
  // Does the same for the failure that poisons the value of `storage`, if there is one.
  void deliver_failure_of(const Storage& storage);
  // Delivers the oldest failure that is not reported, if there is one.
  void deliver_oldest();
  // Makes values whose bytes are old valid again, marks the other poisoned ones as lost, and forgets the failures.
  // Returns how many were not reported.
  int recover() noexcept;
  // Whether the value was poisoned at the last recover() or an earlier one, and nothing has overwritten it since.
  bool has_lost(const Storage& storage) const noexcept;
  // Writes the messages that are not reported to standard error, the oldest first.
  void print_undelivered() const noexcept;

  // See ForkLocks; for failures that are never destroyed.
  void hold_at_fork() { ForkLocks::add(mutex_, ForkLocks::Kind::inner); }

 private:
  static constexpr int max_listed = 100;

  // Makes the Error of a failure, and counts the failure as reported.
  Error report(Failure& failure) ASYNCGRAD_REQUIRES(mutex_);
  Failure* first_of(std::string_view message) noexcept ASYNCGRAD_REQUIRES(mutex_);
  void list(Failure& failure) noexcept ASYNCGRAD_REQUIRES(mutex_);
  void unlist(Failure& failure) noexcept ASYNCGRAD_REQUIRES(mutex_);
  void note_reported(Failure& failure) noexcept ASYNCGRAD_REQUIRES(mutex_);
  void release(Failure& failure) noexcept ASYNCGRAD_REQUIRES(mutex_);
  void unlink(Storage& storage) noexcept ASYNCGRAD_REQUIRES(mutex_);

  mutable Mutex mutex_;
  Failure* oldest_ ASYNCGRAD_GUARDED_BY(mutex_) = nullptr;
  Failure* youngest_ ASYNCGRAD_GUARDED_BY(mutex_) = nullptr;
  int listed_ ASYNCGRAD_GUARDED_BY(mutex_) = 0;
  std::int64_t unlisted_ ASYNCGRAD_GUARDED_BY(mutex_) = 0;
  std::uint64_t made_ ASYNCGRAD_GUARDED_BY(mutex_) = 0;
  // Failures made before this point that are not listed will not be reported.
  std::uint64_t forgotten_ ASYNCGRAD_GUARDED_BY(mutex_) = 0;
  Storage* poisoned_ ASYNCGRAD_GUARDED_BY(mutex_) = nullptr;
  // Stands for failures for which there is no memory. It is never deleted, because it has a share of itself.
  Failure without_memory_ ASYNCGRAD_GUARDED_BY(mutex_){
      .number = 0,
      .message = "[engine] an operation failed, and there was no memory to say which and why",
      .shares = 1,
      .is_reported = true};
};

}  // namespace asyncgrad::detail
