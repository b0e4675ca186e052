#include "asyncgrad/core/engine/run/failure.h"

#include <algorithm>
#include <iterator>

#include "asyncgrad/core/error.h"

namespace asyncgrad::detail {

namespace {

bool is_older(const Failure* a, const Failure* b) { return a->is_older_than(*b); }

}  // namespace

Failure* Failures::add(std::uint64_t number, std::string message) {
  auto* failure =
      new Failure{.number = number, .message = std::move(message), .references{2}};  // the list's, the caller's
  const std::lock_guard lock(mutex_);
  failure->made = ++made_;
  forget_delivered();
  failures_.push_back(failure);
  return failure;
}

void Failures::poison(Storage& storage, Failure& cause, bool bytes_are_old) {
  const std::lock_guard lock(mutex_);
  // Old bytes stay old only as long as nothing but skipped operations came since.
  storage.bytes_are_old = bytes_are_old && (storage.failure == nullptr || storage.bytes_are_old);
  if (storage.failure != nullptr && !cause.is_older_than(*storage.failure)) return;
  cause.references.fetch_add(1, std::memory_order_relaxed);  // relaxed: the caller or the list holds one
  if (storage.failure != nullptr) release(*storage.failure);
  storage.failure = &cause;
  poisoned_.insert(&storage);
}

void Failures::cure(Storage& storage) noexcept {
  if (storage.failure == nullptr) return;
  const std::lock_guard lock(mutex_);
  release(*storage.failure);
  storage.failure = nullptr;
  storage.bytes_are_old = false;
  poisoned_.erase(&storage);
}

void Failures::deliver(Failure& failure) {
  failure.delivered.store(true, std::memory_order_relaxed);
  throw Error(failure.message);
}

void Failures::deliver_oldest() {
  std::string message;
  {
    const std::lock_guard lock(mutex_);
    forget_delivered();
    const auto oldest = std::ranges::min_element(failures_, is_older);
    if (oldest == failures_.end()) return;
    (*oldest)->delivered.store(true, std::memory_order_relaxed);
    message = (*oldest)->message;
  }
  throw Error(message);
}

int Failures::recover() {
  const std::lock_guard lock(mutex_);
  std::erase_if(poisoned_, [](Storage* storage) {
    if (!storage->bytes_are_old) return false;
    release(*storage->failure);
    storage->failure = nullptr;
    storage->bytes_are_old = false;
    return true;
  });
  int undelivered = 0;
  for (Failure* failure : failures_) {
    undelivered += failure->delivered.load(std::memory_order_relaxed) ? 0 : 1;
    failure->delivered.store(true, std::memory_order_relaxed);
    release(*failure);
  }
  failures_.clear();
  return undelivered;
}

std::vector<std::string> Failures::undelivered() const {
  const std::lock_guard lock(mutex_);
  std::vector<const Failure*> found;
  std::ranges::copy_if(failures_, std::back_inserter(found),
                       [](const Failure* failure) { return !failure->delivered.load(std::memory_order_relaxed); });
  std::ranges::sort(found, is_older);
  std::vector<std::string> messages;
  messages.reserve(found.size());
  for (const Failure* failure : found) messages.push_back(failure->message);
  return messages;
}

void Failures::forget_delivered() {
  std::erase_if(failures_, [](Failure* failure) {
    const bool delivered = failure->delivered.load(std::memory_order_relaxed);
    if (delivered) release(*failure);
    return delivered;
  });
}

void Failures::release(Failure& failure) {
  // Acquire-release: the last one deletes after all others are done.
  if (failure.references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete &failure;
}

}  // namespace asyncgrad::detail
