// Contents come into storages and leave them, are needed and are not, and end.
#include <algorithm>
#include <utility>

#include "asyncgrad/autograd/budget/references.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::detail {

// The contents of the storage, with a reference to them.
Contents* Plan::obtain(Storage& storage) {
  std::unique_ptr<Contents> made;
  if (contents_at(storage) == nullptr) made = std::make_unique<Contents>();
  for (;;) {
    Contents* found = nullptr;
    const HandleToDrop dropped = [&]() -> Storage* {
      const SpinLockGuard lock(lock_);
      Contents* const there = contents_at(storage);
      Storage* left = nullptr;
      if (there != nullptr && there->version == storage.version) {
        found = there;
      } else if (made != nullptr) {
        if (there != nullptr) left = overwrite(*there);  // another thread has written, and is about to note that
        found = made.release();
        hold(*found, storage, storage.version);
      }
      if (found != nullptr) ++found->references;
      return left;
    }();
    if (found != nullptr) return found;
    made = std::make_unique<Contents>();
  }
}

// `version`: of the storage, when it held them. Another thread may have written since.
void Plan::hold(Contents& contents, Storage& storage, std::uint32_t version) {
  contents.storage = &storage;
  contents.version = version;
  ++contents.references;
  storage.contents.store(&contents, std::memory_order_release);
  contents.last_use = queued_work_;
  if (contents.is_needed()) take_handle(contents);
  if (contents.is_absent) release_operands(contents);
}

Storage* Plan::leave(Contents& contents) {
  Storage* const handle = contents.handle == nullptr ? nullptr : &give_handle(contents);
  contents.storage->contents.store(nullptr, std::memory_order_release);
  contents.storage = nullptr;
  if (contents.is_needed() && contents.recipe != nullptr) {
    need_operands(contents);
  } else {
    note_gone(contents);
  }
  release(contents);
  return handle;
}

Storage* Plan::overwrite(Contents& contents) {
  contents.is_overwritten = contents.saves > 0;
  return leave(contents);
}

void Plan::take_handle(Contents& contents) {
  add_handle(*contents.storage);
  contents.handle = contents.storage;
  if (contents.recipe == nullptr || (contents.handle->size_bytes < min_dropped_bytes && !drops_all_)) return;
  contents.is_candidate = true;
  contents.before = nullptr;
  contents.after = first_candidate_;
  if (contents.after != nullptr) contents.after->before = &contents;
  first_candidate_ = &contents;
  ++candidates_;
  contents.last_search = 0;
}

Storage& Plan::give_handle(Contents& contents) {
  if (std::exchange(contents.is_candidate, false)) {
    --candidates_;
    (contents.before == nullptr ? first_candidate_ : contents.before->after) = contents.after;
    if (contents.after != nullptr) contents.after->before = contents.before;
  }
  return *std::exchange(contents.handle, nullptr);
}

void Plan::need_operands(Contents& contents) {
  contents.is_absent = true;
  ++absent_;
  Need* need = contents.needs.get();
  for (const Recipe::Read& read : contents.recipe->reads) {
    Contents& operand = *read.contents;
    const bool was_gone = operand.storage == nullptr && !operand.is_absent;
    *need = {.reader = &contents, .before = nullptr, .after = operand.needed_by};
    if (need->after != nullptr) need->after->before = need;
    operand.needed_by = need++;
    if (was_gone && operand.recipe != nullptr) need_operands(operand);
  }
}

void Plan::release_operands(Contents& contents) {
  contents.is_absent = false;
  --absent_;
  Need* need = contents.needs.get();
  for (const Recipe::Read& read : contents.recipe->reads) {
    Contents& operand = *read.contents;
    (need->before == nullptr ? operand.needed_by : need->before->after) = need->after;
    if (need->after != nullptr) need->after->before = need->before;
    *need++ = {};
    if (operand.is_needed()) continue;
    if (operand.is_absent) release_operands(operand);
    if (operand.storage == nullptr) note_gone(operand);
    note_unneeded(operand);
  }
}

void Plan::note_unneeded(Contents& contents) {
  if (contents.handle == nullptr || contents.is_unneeded) return;
  contents.is_unneeded = true;
  is_untidy_.store(true, std::memory_order_relaxed);
  ++contents.references;
  contents.next = first_unneeded_;
  first_unneeded_ = &contents;
}

// One at a time, so that no list needs memory; not within itself, so that a long list needs no deep stack.
void Plan::tidy() noexcept {
  // Relaxed: a thread that sees the mark late leaves the work to the next one.
  if (!is_untidy_.load(std::memory_order_relaxed)) return;
  constinit static thread_local bool is_tidying = false;
  if (std::exchange(is_tidying, true)) return;
  for (bool is_done = false; !is_done;) {
    std::unique_ptr<Recipe> ended;
    const HandleToDrop dropped = [&]() -> Storage* {
      const SpinLockGuard lock(lock_);
      ended.reset(first_ended_);
      if (first_ended_ != nullptr) first_ended_ = first_ended_->next;
      is_done = first_unneeded_ == nullptr && first_ended_ == nullptr;
      if (is_done) is_untidy_.store(false, std::memory_order_relaxed);
      if (first_unneeded_ == nullptr) return nullptr;
      Contents& contents = *first_unneeded_;
      first_unneeded_ = contents.next;
      contents.is_unneeded = false;
      // They may be needed again.
      const bool is_kept = contents.handle == nullptr || (contents.storage != nullptr && contents.is_needed());
      Storage* const handle = is_kept ? nullptr : &give_handle(contents);
      release(contents);
      return handle;
    }();
  }
  is_tidying = false;
}

// Contents that nobody needs keep their recipe for what may be computed from them, but no long chain of recipes.
void Plan::note_gone(Contents& contents) {
  if (contents.recipe == nullptr) return;
  if (contents.above + depth_below(contents) > max_depth) return cut(contents);
  for (const Recipe::Read& read : contents.recipe->reads) raise_above(*read.contents, contents.above + 1);
}

void Plan::raise_above(Contents& contents, int above) {
  if (contents.above >= above) return;
  contents.above = above;
  if (contents.storage != nullptr || contents.is_absent || contents.recipe == nullptr) return;
  if (above > max_depth) return cut(contents);
  for (const Recipe::Read& read : contents.recipe->reads) raise_above(*read.contents, above + 1);
}

void Plan::cut(Contents& contents) {
  Recipe& recipe = *std::exchange(contents.recipe, nullptr);
  recipe.results[static_cast<std::size_t>(contents.result)].contents = nullptr;
  Contents* ended = nullptr;
  release(recipe, ended);
  end(ended);
}

void Plan::release(Contents& contents) {
  if (--contents.references > 0) return;
  contents.next = nullptr;
  end(&contents);
}

// Adds contents that have no reference any more to the list `ended`.
void Plan::release(Recipe& recipe, Contents*& ended) {
  if (--recipe.references > 0) return;
  for (const Recipe::Read& read : recipe.reads) {
    if (--read.contents->references > 0) continue;
    read.contents->next = ended;
    ended = read.contents;
  }
  if (recipe.owned == nullptr) {
    delete &recipe;
  } else {
    recipe.next = std::exchange(first_ended_, &recipe);
    is_untidy_.store(true, std::memory_order_relaxed);
  }
}

// Without recursion, because what recipes read has recipes.
void Plan::end(Contents* ended) {
  while (ended != nullptr) {
    const std::unique_ptr<Contents> contents(ended);
    ended = contents->next;
    if (contents->recipe == nullptr) continue;
    contents->recipe->results[static_cast<std::size_t>(contents->result)].contents = nullptr;
    release(*contents->recipe, ended);
  }
}

bool Plan::lets_go(Storage& storage, bool counted) noexcept {
  const SpinLockGuard lock(lock_);
  // Handles are added here from contents alone, under the lock, and not once there is none: so one thread alone takes
  // the count to 0.
  if (counted && storage.handles.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
  Contents* const contents = contents_at(storage);
  if (contents == nullptr) return true;
  if (contents->needed_by != nullptr && work_to_drop(*contents) < 0) {
    take_handle(*contents);
    return false;
  }
  leave(*contents);  // the handle is gone
  return true;
}

// Also if nobody has asked for the contents so far: another thread may do so meanwhile.
bool Plan::expose(Storage& storage) {
  const Closing contents(*this, storage);
  {
    const SpinLockGuard lock(lock_);
    if ((*contents).recipe != nullptr) cut(*contents);
  }
  bring_back_readers(*contents);
  storage.is_exposed.store(true, std::memory_order_relaxed);
  tidy();
  const SpinLockGuard lock(lock_);
  return (*contents).was_read_again;
}

// What was computed from the value after the write, or is to be, is lost.
void Plan::restored(Storage& storage) noexcept {
  const SpinLockGuard lock(lock_);
  Contents* const contents = contents_at(storage);
  if (contents == nullptr) return;
  ++contents->references;
  if (contents->recipe != nullptr) cut(*contents);
  contents->is_overwritten = contents->saves > 0;
  storage.contents.store(nullptr, std::memory_order_release);
  contents->storage = nullptr;
  note_unneeded(*contents);
  release(*contents);  // the storage's
  release(*contents);
}

void Plan::check_nothing_is_absent() const {
  {
    const SpinLockGuard lock(lock_);
    if (absent_ == 0) return;
  }
  throw_error("dry_run",
              "a loss that was not given to backward() needs values that recompute_to_fit has dropped, and a dry "
              "run could not compute them: call backward(), or let go of the loss, before");
}

}  // namespace asyncgrad::detail
