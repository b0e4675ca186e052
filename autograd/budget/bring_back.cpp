// Saved tensors, and how those that were dropped come back.
#include <algorithm>
#include <utility>
#include <vector>

#include "asyncgrad/autograd/budget/references.h"
#include "asyncgrad/core/call_site.h"
#include "asyncgrad/core/engine/run/nan_check.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::detail {

namespace {

// A tensor to be, made before the lock is taken.
class NewView {
 public:
  explicit NewView(const Part& part)
      : impl_(new TensorImpl{.dtype = part.dtype,
                             .storage = nullptr,
                             .offset_bytes = part.offset_bytes,
                             .shape = part.shape,
                             .device = part.device}) {}
  Tensor of(Storage& storage) {
    add_handle(storage);
    impl_->storage = &storage;
    return Tensor(impl_.release());
  }

 private:
  std::unique_ptr<TensorImpl> impl_;
};

}  // namespace

Contents* Plan::save(const Tensor& tensor) {
  Contents* const contents = obtain(*tensor.impl()->storage);
  const Location where = CallSite::current();
  const SpinLockGuard lock(lock_);
  ++contents->saves;
  contents->saved_at = where;
  contents->saved_when = contents->last_use = queued_work_;
  if (contents->storage != nullptr && contents->handle == nullptr) take_handle(*contents);
  return contents;
}

void Plan::forget(Contents& contents) noexcept {
  {
    const SpinLockGuard lock(lock_);
    --contents.saves;
    if (!contents.is_needed()) {
      if (contents.is_absent) {
        release_operands(contents);
        note_gone(contents);
      }
      note_unneeded(contents);
    }
    release(contents);
  }
  tidy();
}

Tensor Plan::read(Contents& contents, const Part& part) {
  const auto is_overwritten = [&] {
    const SpinLockGuard lock(lock_);
    contents.last_use = queued_work_;
    return contents.is_overwritten || (contents.storage != nullptr && contents.storage->version != contents.version);
  };
  if (is_overwritten()) return {};
  const Found found = find(contents, part);
  if (found.tensor.defined()) return found.tensor;
  if (is_overwritten()) return {};
  throw_error(
      "backward",
      "a value that was dropped cannot be computed again: what it was computed from has failed or was overwritten");
}

// Tensor{} if no storage holds the contents and they cannot be computed again: for an operand of others because these
// have come back meanwhile. Ends: each round that finds nothing goes with a write of another thread.
Plan::Found Plan::find(Contents& contents, const Part& part) {
  for (;;) {
    Found held = find_held(contents, part);
    if (held.tensor.defined()) return held;
    const Found again = bring_back(contents);
    if (again.tensor.defined()) return {NewView(part).of(*again.tensor.impl()->storage), again.version};
    const SpinLockGuard lock(lock_);
    if (is_lost(contents)) return {};
  }
}

// Tensor{} if no storage holds the contents. Where another thread has written, and is about to take the lock, this says
// so in its place. Where it has dropped the last handle, it will end the storage, and this waits until it has the lock.
Plan::Found Plan::find_held(Contents& contents, const Part& part) {
  for (NewView view(part);; pause_briefly()) {
    Found found;
    bool is_over = true;
    const HandleToDrop dropped = [&]() -> Storage* {
      const SpinLockGuard lock(lock_);
      Storage* const storage = contents.storage;
      if (storage == nullptr) return nullptr;
      if (storage->version != contents.version) return overwrite(contents);
      // Relaxed: nobody adds a handle to none.
      is_over = storage->handles.load(std::memory_order_relaxed) > 0;
      if (is_over) found = {view.of(*storage), contents.version};
      return nullptr;
    }();
    if (is_over) return found;
  }
}

// Whether no storage holds the contents, and they cannot be computed from what storages hold.
bool Plan::is_lost(Contents& contents) {
  ++searches_;
  return contents.storage == nullptr && search_lost(contents);
}

bool Plan::search_lost(Contents& contents) {
  contents.mark = searches_;
  if (contents.recipe == nullptr) return true;
  for (const Recipe::Read& read : contents.recipe->reads) {
    Contents& operand = *read.contents;
    if (!operand.is_there() && operand.mark != searches_ && search_lost(operand)) return true;
  }
  return false;
}

// Queues the recipe again. Tensor{} if there is none, or if another thread has written meanwhile what the recipe reads:
// what needs that has come back before.
Plan::Found Plan::bring_back(Contents& contents) {
  const RecipeReference reference(*this, contents);
  if (reference.get() == nullptr) return {};
  const Recipe& recipe = *reference.get();
  std::vector<Found> reads;
  std::vector<Tensor> results;
  std::vector<OperandRef> operands;
  for (const Recipe::Read& read : recipe.reads) {
    reads.push_back(find(*read.contents, read.part));
    if (!reads.back().tensor.defined()) return {};
  }
  for (const Recipe::Result& result : recipe.results) {
    results.push_back(make_tensor(result.part.shape, result.part.dtype, result.part.device));
  }
  for (const Tensor& result : results) operands.push_back(writes(result));
  for (const Found& read : reads) operands.push_back(detail::reads(read.tensor));
  make_room(*results[0].impl()->storage->device);
  submit_again(recipe, operands);
  const Tensor& result = results[static_cast<std::size_t>(contents.result)];
  Found again{result, result.impl()->storage->version};
  if (!note_computed_again(recipe, reads, results)) return {};
  tidy();
  return again;
}

// What was computed without a check for NaN is not checked now.
void Plan::submit_again(const Recipe& recipe, std::span<const OperandRef> operands) {
  struct Unchecked {
    const bool outer = std::exchange(NanChecks::are_on, false);
    ~Unchecked() { NanChecks::are_on = outer; }
  };
  const Unchecked unchecked;
  const OriginScope scope = OriginScope::again(recipe.origin);
  submit_as_it_is({.op = recipe.op,
                   .operands = operands,
                   .attributes = recipe.attributes.data(),
                   .attribute_bytes = recipe.attribute_bytes,
                   .where = recipe.origin.where,
                   .owned = recipe.owned == nullptr ? nullptr : &recipe.owned});
}

// Whether the operation has read what the recipe says: versions rise as writes are queued, and a storage is exposed
// before the program may write it. Another thread may have brought the same contents back; then these results are its
// caller's alone.
bool Plan::note_computed_again(const Recipe& recipe, std::span<const Found> reads, std::span<const Tensor> results) {
  const SpinLockGuard lock(lock_);
  figures_.recomputed_operations += 1;
  figures_.recomputed_work += recipe.work;
  count_work(recipe.work);
  for (const Recipe::Read& read : recipe.reads) read.contents->was_read_again = true;
  const auto was_written = [](const Found& read) {
    const Storage& storage = *read.tensor.impl()->storage;
    return storage.version != read.version || storage.is_exposed.load(std::memory_order_relaxed);
  };
  if (std::ranges::any_of(reads, was_written)) return false;
  for (std::size_t i = 0; i < results.size(); ++i) {
    Contents* const result = recipe.results[i].contents;
    if (result != nullptr && result->is_absent)
      hold(*result, *results[i].impl()->storage, results[i].impl()->storage->version);
  }
  return true;
}

// The contents are closing. So are perhaps others that the readers need: each of the threads that close them brings the
// readers back, and the first one finds all of those contents there.
//
// Ends: each round removes a reader, and none that cannot be computed without closing contents is dropped meanwhile. What
// no saved tensor has is held by the planner as long as others need it.
Location Plan::bring_back_readers(Contents& contents) {
  Location where;
  for (std::uint64_t when = 0;;) {
    Contents* lost = nullptr;
    {
      const SpinLockGuard lock(lock_);
      lost = lost_reader(contents);
      if (lost == nullptr) return where;
      ++lost->references;
      ++figures_.recomputed_before_writes;
      const Contents& last = saved_last(*lost);
      if (last.saved_when >= when) {
        where = last.saved_at;
        when = last.saved_when;
      }
    }
    const Reference reader(*this, lost);
    bring_back(*reader);
  }
}

const Contents& Plan::saved_last(Contents& contents) {
  ++searches_;
  return search_saved_last(contents);
}

const Contents& Plan::search_saved_last(Contents& contents) {
  contents.mark = searches_;
  const Contents* last = &contents;
  for (const Need* need = contents.needed_by; need != nullptr; need = need->after) {
    if (need->reader->mark == searches_) continue;
    const Contents& above = search_saved_last(*need->reader);
    if (above.saved_when > last->saved_when) last = &above;
  }
  return *last;
}

// An absent reader that can be computed now, and not once contents that are closing have gone; or null.
Contents* Plan::lost_reader(const Contents& contents) {
  for (const Need* need = contents.needed_by; need != nullptr; need = need->after) {
    if (work_to_compute(*need->reader) < 0 && work_to_compute(*need->reader, true) >= 0) return need->reader;
  }
  return nullptr;
}

}  // namespace asyncgrad::detail
