#include "asyncgrad/core/engine/run/failure.h"

#include <fmt/format.h>

#include <cstdio>
#include <new>
#include <utility>

#include "asyncgrad/core/memory/planner.h"
#include "asyncgrad/core/noted_error.h"

namespace asyncgrad::detail {

Failure* Failures::add(std::uint64_t number, std::string message, std::shared_ptr<const Error::Parts> parts) noexcept {
  Failure* failure = message.empty()
                         ? nullptr
                         : new (std::nothrow)
                               Failure{.number = number, .message = std::move(message), .parts = std::move(parts)};
  const MutexLock lock(mutex_);
  if (failure == nullptr) {
    failure = &without_memory_;
    if (failure->is_listed) {
      ++unlisted_;  // it stands for several operations
    } else {
      failure->number = number;
    }
    failure->is_reported = false;
  }
  failure->made = ++made_;
  ++failure->shares;
  if (!failure->is_listed) list(*failure);
  return failure;
}

Failure* Failures::add_again(std::uint64_t number, std::string message,
                             std::shared_ptr<const Error::Parts> parts) noexcept {
  {
    const MutexLock lock(mutex_);
    if (Failure* const first = first_of(message)) {
      ++first->shares;
      return first;
    }
  }
  return add(number, std::move(message), std::move(parts));
}

// The youngest failure that the message of a second one begins with, or null.
Failure* Failures::first_of(std::string_view message) noexcept {
  const auto begins = [message](const Failure& failure) {
    return message.starts_with(failure.message) && message.substr(failure.message.size()).starts_with(", ");
  };
  for (Failure* failure = youngest_; failure != nullptr; failure = failure->older) {
    if (begins(*failure)) return failure;
  }
  for (const Storage* storage = poisoned_; storage != nullptr; storage = storage->poisoned_after) {
    Failure* const failure = storage->failure.load(std::memory_order_relaxed);
    if (begins(*failure)) return failure;
  }
  return nullptr;
}

void Failures::forget(Failure& failure) noexcept {
  const MutexLock lock(mutex_);
  note_reported(failure);
}

void Failures::let_go(Failure& failure) noexcept {
  const MutexLock lock(mutex_);
  release(failure);
}

Failure* Failures::older_cause(const Storage& storage, Failure* cause) noexcept {
  const MutexLock lock(mutex_);
  Failure* const other = storage.failure.load(std::memory_order_relaxed);
  if (other == nullptr || (cause != nullptr && !other->is_older_than(*cause))) return cause;
  ++other->shares;
  if (cause != nullptr) release(*cause);
  return other;
}

void Failures::poison(Storage& storage, Failure& cause, bool bytes_are_old) noexcept {
  const MutexLock lock(mutex_);
  Failure* const before = storage.failure.load(std::memory_order_relaxed);
  // The bytes are still old only if all operations since were skipped.
  storage.bytes_are_old = bytes_are_old && (before == nullptr || storage.bytes_are_old);
  if (before != nullptr && !cause.is_older_than(*before)) return;
  ++cause.shares;
  storage.failure.store(&cause, std::memory_order_release);
  if (before != nullptr) return release(*before);
  storage.poisoned_before = nullptr;
  storage.poisoned_after = poisoned_;
  if (poisoned_ != nullptr) poisoned_->poisoned_before = &storage;
  poisoned_ = &storage;
}

void Failures::cure(Storage& storage) noexcept {
  if (!storage.is_poisoned()) return;
  const MutexLock lock(mutex_);
  if (storage.failure.load(std::memory_order_relaxed) != nullptr) unlink(storage);
}

void Failures::deliver(Failure& failure) {
  const MutexLock lock(mutex_);
  throw report(failure);
}

void Failures::deliver_failure_of(const Storage& storage) {
  if (!storage.is_poisoned()) return;
  const MutexLock lock(mutex_);
  if (Failure* const failure = storage.failure.load(std::memory_order_relaxed)) throw report(*failure);
}

void Failures::deliver_oldest() {
  const MutexLock lock(mutex_);
  if (oldest_ != nullptr) throw report(*oldest_);
  if (unlisted_ == 0) return;
  Error error(fmt::format("[engine] {} more operations failed; the messages of the first {} alone were kept", unlisted_,
                          max_listed),
              ErrorKind::asynchronous);
  unlisted_ = 0;
  forgotten_ = made_;
  throw error;
}

int Failures::recover() noexcept {
  const MutexLock lock(mutex_);
  for (Storage* storage = poisoned_; storage != nullptr;) {
    Storage* const after = storage->poisoned_after;
    if (storage->bytes_are_old) {
      if (Planner* const planner = Planner::get()) planner->restored(*storage);
      unlink(*storage);
    } else {
      storage->is_lost = true;
    }
    storage = after;
  }
  const std::int64_t undelivered = listed_ + unlisted_;
  while (oldest_ != nullptr) note_reported(*oldest_);
  unlisted_ = 0;
  forgotten_ = made_;
  return static_cast<int>(undelivered);
}

bool Failures::has_lost(const Storage& storage) const noexcept {
  if (!storage.is_poisoned()) return false;
  const MutexLock lock(mutex_);
  return storage.is_lost;
}

void Failures::print_undelivered() const noexcept {
  const MutexLock lock(mutex_);
  for (const Failure* failure = oldest_; failure != nullptr; failure = failure->younger) {
    std::fprintf(stderr, "asyncgrad: an error that no wait has reported: %s\n", failure->message.c_str());
  }
  if (unlisted_ > 0) {
    std::fprintf(stderr, "asyncgrad: and %lld more\n", static_cast<long long>(unlisted_));
  }
}

// If there is no memory for the Error, the failure is not reported.
Error Failures::report(Failure& failure) {
  Error error(failure.message, ErrorKind::asynchronous, failure.parts);
  NotedError::note(failure.message);
  note_reported(failure);
  return error;
}

// Inserts by age, from the youngest on, which the new one usually is. If the list is too long, its youngest failure is
// only counted.
void Failures::list(Failure& failure) noexcept {
  Failure* older = youngest_;
  while (older != nullptr && failure.is_older_than(*older)) older = older->older;
  failure.older = older;
  failure.younger = older == nullptr ? oldest_ : older->younger;
  (failure.older == nullptr ? oldest_ : failure.older->younger) = &failure;
  (failure.younger == nullptr ? youngest_ : failure.younger->older) = &failure;
  failure.is_listed = true;
  ++failure.shares;
  if (++listed_ <= max_listed) return;
  ++unlisted_;
  unlist(*youngest_);
}

void Failures::unlist(Failure& failure) noexcept {
  (failure.older == nullptr ? oldest_ : failure.older->younger) = failure.younger;
  (failure.younger == nullptr ? youngest_ : failure.younger->older) = failure.older;
  failure.is_listed = false;
  --listed_;
  release(failure);
}

void Failures::note_reported(Failure& failure) noexcept {
  if (failure.is_reported) return;
  failure.is_reported = true;
  if (failure.is_listed) {
    unlist(failure);
  } else if (failure.made > forgotten_) {
    --unlisted_;
  }
}

void Failures::release(Failure& failure) noexcept {
  if (--failure.shares == 0) delete &failure;
}

void Failures::unlink(Storage& storage) noexcept {
  (storage.poisoned_before == nullptr ? poisoned_ : storage.poisoned_before->poisoned_after) = storage.poisoned_after;
  if (storage.poisoned_after != nullptr) storage.poisoned_after->poisoned_before = storage.poisoned_before;
  storage.bytes_are_old = false;
  storage.is_lost = false;
  release(*storage.failure.load(std::memory_order_relaxed));
  storage.failure.store(nullptr, std::memory_order_release);  // see invariant 1
}

}  // namespace asyncgrad::detail
