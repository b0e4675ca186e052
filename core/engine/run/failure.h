// Failures and the values they poison. Internal.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "asyncgrad/core/engine/admission/device_state.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/sync/mutex.h"

namespace asyncgrad::detail {

// Why a value could not be computed. Shared by the values that it poisoned, by the threads that are about to poison
// with it and, as long as nobody has been told of it, by the list of failures. The lock of Failures guards all but the
// message and its parts.
struct Failure {
  std::uint64_t number;  // of the operation, in program order
  std::string message;
  std::shared_ptr<const Error::Parts> parts{};
  std::uint64_t made = 0;  // its sequence number: operations that run at their call share a number, in this order
  int shares = 0;
  bool is_told = false;
  bool is_listed = false;
  Failure* older = nullptr;  // its neighbours in the list
  Failure* younger = nullptr;

  bool is_older_than(const Failure& other) const {
    return number != other.number ? number < other.number : made < other.made;
  }
};

// The failures that nobody has been told of since the last recover(), and all storages that hold a poisoned value.
//
// Thread safety: any thread may call any function at any time, and none but those that throw takes memory. The lock is
// held for short, and never by a caller that waits. Invariants, under it:
// 1. A storage is in the list of poisoned ones as long as it has a failure, of which it has a share. That its failure
//    becomes null is the last that is done to it: another thread that sees so may end the storage at once.
// 2. The list has the oldest failures that nobody has been told of, at most `most_listed`, the oldest first. So many as
//    `unlisted_` says are the others that were made since `forgotten_`.
class Failures final : public PoisonedValues {
 public:
  // A failure that nobody has been told of, of which the caller has a share. An empty message says that there was no
  // memory for one, as is said, too, if there is none for the failure.
  Failure* add(std::uint64_t number, std::string message, std::shared_ptr<const Error::Parts> parts = nullptr) noexcept;
  // Nobody has to be told of it: another one tells of the same.
  void forget(Failure& failure) noexcept;
  // Gives up the caller's share.
  void let_go(Failure& failure) noexcept;
  // The older one of `cause`, of which the caller has a share, and of what poisons `storage`; either may be null. The
  // caller has a share of the answer in its place.
  Failure* older_cause(const Storage& storage, Failure* cause) noexcept;

  // Poisons the value of `storage`. An older failure that it already has stays. `bytes_are_old`: they are still those
  // of the valid value before.
  void poison(Storage& storage, Failure& cause, bool bytes_are_old) noexcept;
  // The value was overwritten whole, or the storage ends.
  void cure(Storage& storage) noexcept override;

  // Throws the failure as an Error, of which somebody has been told then. The caller has a share of it, or a storage
  // that lives on. Throws std::bad_alloc if there is no memory for that.
  [[noreturn]] void deliver(Failure& failure);
  // The same for the failure that poisons the value of `storage`, if there is one.
  void deliver_failure_of(const Storage& storage);
  // Delivers the oldest failure that nobody has been told of, if there is one.
  void deliver_oldest();
  // Makes values whose bytes are old valid again, and forgets the failures. How many nobody had been told of.
  int recover() noexcept;
  // Writes the messages that nobody has been told of to standard error, the oldest first.
  void print_undelivered() const noexcept;

 private:
  static constexpr int most_listed = 100;

  // Counts the failure as told.
  Error told(Failure& failure) ASYNCGRAD_REQUIRES(mutex_);
  void list(Failure& failure) noexcept ASYNCGRAD_REQUIRES(mutex_);
  void unlist(Failure& failure) noexcept ASYNCGRAD_REQUIRES(mutex_);
  void note_told(Failure& failure) noexcept ASYNCGRAD_REQUIRES(mutex_);
  void release(Failure& failure) noexcept ASYNCGRAD_REQUIRES(mutex_);
  void unlink(Storage& storage) noexcept ASYNCGRAD_REQUIRES(mutex_);

  mutable Mutex mutex_;
  Failure* oldest_ ASYNCGRAD_GUARDED_BY(mutex_) = nullptr;
  Failure* youngest_ ASYNCGRAD_GUARDED_BY(mutex_) = nullptr;
  int listed_ ASYNCGRAD_GUARDED_BY(mutex_) = 0;
  std::int64_t unlisted_ ASYNCGRAD_GUARDED_BY(mutex_) = 0;
  std::uint64_t made_ ASYNCGRAD_GUARDED_BY(mutex_) = 0;
  // Nobody will be told of those made up to here that are not listed.
  std::uint64_t forgotten_ ASYNCGRAD_GUARDED_BY(mutex_) = 0;
  Storage* poisoned_ ASYNCGRAD_GUARDED_BY(mutex_) = nullptr;
  // Stands for failures that there is no memory for. It is never deleted: one share is its own.
  Failure without_memory_ ASYNCGRAD_GUARDED_BY(mutex_){
      .number = 0,
      .message = "[engine] an operation failed, and there was no memory to say which and why",
      .shares = 1,
      .is_told = true};
};

}  // namespace asyncgrad::detail
