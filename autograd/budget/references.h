// What a thread has of storages, contents and recipes while it works with them. Internal.
#pragma once

#include <utility>

#include "asyncgrad/autograd/budget/plan.h"

namespace asyncgrad::detail {

inline Contents* contents_at(const Storage& storage) { return storage.contents.load(std::memory_order_acquire); }

// A handle that a thread drops once it has given the lock back, because a storage may end then.
class HandleToDrop {
 public:
  HandleToDrop(Storage* storage) : storage_(storage) {}
  HandleToDrop(const HandleToDrop&) = delete;
  HandleToDrop& operator=(const HandleToDrop&) = delete;
  ~HandleToDrop() {
    if (storage_ != nullptr) drop_handle(*storage_);
  }
  bool is_none() const { return storage_ == nullptr; }

 private:
  Storage* storage_;
};

// A thread's reference to contents.
class Plan::Reference {
 public:
  Reference(Plan& plan, Contents* counted) : plan_(plan), contents_(counted) {}
  Reference(Reference&& other) noexcept : plan_(other.plan_), contents_(std::exchange(other.contents_, nullptr)) {}
  Reference& operator=(Reference&&) = delete;
  ~Reference() {
    if (contents_ == nullptr) return;
    const SpinLockGuard lock(plan_.lock_);
    plan_.release(*contents_);
  }
  Contents* get() const { return contents_; }
  void keep() { contents_ = nullptr; }  // somebody else has the reference now
  Contents& operator*() const { return *contents_; }

 private:
  Plan& plan_;
  Contents* contents_;
};

// A thread's reference to what a storage holds, which is closing meanwhile.
class Plan::Closing {
 public:
  Closing(Plan& plan, Storage& storage) : plan_(plan), contents_(plan.obtain(storage)) {
    const SpinLockGuard lock(plan_.lock_);
    ++contents_->closing;
  }
  Closing(Closing&& other) noexcept : plan_(other.plan_), contents_(std::exchange(other.contents_, nullptr)) {}
  Closing& operator=(Closing&&) = delete;
  ~Closing() {
    if (contents_ == nullptr) return;
    const SpinLockGuard lock(plan_.lock_);
    --contents_->closing;
    plan_.release(*contents_);
  }
  Contents& operator*() const { return *contents_; }

 private:
  Plan& plan_;
  Contents* contents_;
};

// A thread's reference to the recipe of contents. They may have none.
class Plan::RecipeReference {
 public:
  RecipeReference(Plan& plan, const Contents& contents) : plan_(plan) {
    const SpinLockGuard lock(plan_.lock_);
    recipe_ = contents.recipe;
    if (recipe_ != nullptr) ++recipe_->references;
  }
  RecipeReference(const RecipeReference&) = delete;
  RecipeReference& operator=(const RecipeReference&) = delete;
  ~RecipeReference() {
    if (recipe_ == nullptr) return;
    const SpinLockGuard lock(plan_.lock_);
    Contents* ended = nullptr;
    plan_.release(*recipe_, ended);
    plan_.end(ended);
  }
  const Recipe* get() const { return recipe_; }

 private:
  Plan& plan_;
  Recipe* recipe_;
};

}  // namespace asyncgrad::detail
