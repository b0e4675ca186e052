#include "asyncgrad/autograd/budget/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "asyncgrad/autograd/budget/references.h"
#include "asyncgrad/core/backend/custom_kernel.h"
#include "asyncgrad/core/call_site.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/sync/fork_locks.h"
#include "asyncgrad/core/tensor_impl.h"
#include "asyncgrad/core/warn.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad::detail {

namespace {

// Whether the operation would compute the same again, and nothing else.
bool can_be_repeated(const Submission& submission) {
  if (submission.op == Op::source || submission.op == Op::collective) return false;
  if (submission.op == Op::custom &&
      !static_cast<const CustomAttributes*>(submission.attributes)->kernel->recomputable) {
    return false;
  }
  const Device device = submission.operands[0].impl->device;
  return std::ranges::all_of(submission.operands, [&](const OperandRef& ref) {
    const TensorImpl& impl = *ref.impl;
    return impl.device == device && !impl.storage->is_exposed &&
           (ref.access == Access::read ||
            (ref.access == Access::write && fills(*impl.storage, impl.shape, impl.dtype) && !impl.storage->is_pinned));
  });
}

// The operands that the operation writes, which come before those that it reads.
std::span<const OperandRef> written(const Submission& submission) {
  const std::span<const OperandRef> operands = submission.operands;
  const auto first_read = std::ranges::find(operands, Access::read, &OperandRef::access);
  return operands.first(static_cast<std::size_t>(first_read - operands.begin()));
}

bool writes_contents(const Submission& submission) {
  return std::ranges::any_of(written(submission),
                             [](const OperandRef& ref) { return contents_at(*ref.impl->storage) != nullptr; });
}

}  // namespace

// What the results of an operation will hold, made before it is queued. Given up unless it is put into their storages.
class Plan::NewContents {
 public:
  explicit NewContents(Plan& plan) : plan_(plan) {}
  void prepare(const Submission& submission, std::int64_t work) {
    recipe_.reset(new Recipe{.op = submission.op,
                             .attributes = {},
                             .attribute_bytes = submission.attribute_bytes,
                             .origin = origin_at(submission.where),
                             .work = work,
                             .owned = submission.owned == nullptr ? nullptr : *submission.owned,
                             .results = {},
                             .reads = {}});
    std::memcpy(recipe_->attributes.data(), submission.attributes, submission.attribute_bytes);
    for (const OperandRef& ref : submission.operands) {
      if (ref.access == Access::read) {
        Reference read(plan_, plan_.obtain(*ref.impl->storage));
        recipe_->reads.push_back({read.get(), part_of(*ref.impl)});
        read.keep();
      } else {
        recipe_->results.push_back({nullptr, part_of(*ref.impl)});
        recipe_->result_bytes += ref.impl->storage->size_bytes;
      }
    }
    for (std::size_t i = 0; i < recipe_->results.size(); ++i) {
      auto contents = std::make_unique<Contents>();
      contents->needs = std::make_unique<Need[]>(recipe_->reads.size());
      contents->result = static_cast<int>(i);
      contents_.push_back(std::move(contents));
    }
  }
  NewContents(const NewContents&) = delete;
  NewContents& operator=(const NewContents&) = delete;
  ~NewContents() {
    if (recipe_ == nullptr) return;
    const SpinLockGuard lock(plan_.lock_);
    for (const Recipe::Read& read : recipe_->reads) plan_.release(*read.contents);
  }

  // Whether the operation has read what the recipe says: nothing was written there before it was queued. Under the lock.
  bool are_true(const Submission& submission) const {
    std::size_t i = 0;
    return std::ranges::all_of(submission.operands, [&](const OperandRef& ref) {
      if (ref.access != Access::read) return true;
      const Contents& contents = *recipe_->reads[i++].contents;
      const Storage& storage = *ref.impl->storage;
      return contents.storage == &storage && contents.version == storage.version && !storage.is_exposed;
    });
  }
  // Each result's, in their order. The recipe is theirs then.
  std::vector<std::unique_ptr<Contents>> take() {
    Recipe* const recipe = recipe_.release();
    for (const std::unique_ptr<Contents>& contents : contents_) {
      contents->recipe = recipe;
      ++recipe->references;
      recipe->results[static_cast<std::size_t>(contents->result)].contents = contents.get();
    }
    return std::move(contents_);
  }

 private:
  Plan& plan_;
  std::unique_ptr<Recipe> recipe_;
  std::vector<std::unique_ptr<Contents>> contents_;
};

// Around a submission: what it writes is closing, and what needs that, and could not be computed without it, has come
// back.
class Plan::Writing {
 public:
  Writing(Plan& plan, const Submission& submission) : plan_(plan) {
    const std::span<const OperandRef> operands = written(submission);
    for (const OperandRef& ref : operands) close(*ref.impl->storage, operands.size());
    if (kept_at_.file != nullptr) warn_of_kept_tape();
  }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

  // The version of the i-th operand that is written after this write alone. With another one, other threads have
  // written as well, in an order that nobody knows.
  std::uint32_t version_after(std::size_t i) const { return (*closing_[i]).version + 1; }

 private:
  // Also if nobody has asked for the contents so far: another thread may do so before the write is queued.
  void close(Storage& storage, std::size_t most) {
    closing_.reserve(most);
    closing_.emplace_back(plan_, storage);
    const Location where = plan_.bring_back_readers(*closing_.back());
    if (where.file != nullptr) kept_at_ = where;
  }
  // Such as that of a validation loss, from which nobody calls backward().
  void warn_of_kept_tape() const {
    Origin origin;
    origin.where = kept_at_;
    warn(
        "recompute_to_fit",
        fmt::format("what is computed here is kept with its tape, so that values which were dropped are computed again "
                    "before the write at {}; call backward() before it, let go of the result, or compute it under {}",
                    CallSite::current().str(), no_grad_str()),
        origin);
  }

  Plan& plan_;
  std::vector<Closing> closing_;
  Location kept_at_{};
};

Plan& Plan::get() {
  static Plan* const plan = [] {  // never destroyed, because some tensors end at exit
    auto* const made = new Plan;
    ForkLocks::add(made->lock_, ForkLocks::Kind::innermost);
    return made;
  }();
  return *plan;
}

const bool Plan::is_offered = made_at_load([] { offer(get()); });

void Plan::set_budget(std::optional<std::int64_t> bytes, bool keeps_values) {
  budget_bytes_.store(bytes.value_or(0), std::memory_order_relaxed);
  keeps_values_.store(keeps_values, std::memory_order_relaxed);
  is_on_.store(bytes.has_value(), std::memory_order_relaxed);
}

Planner::Kept Plan::why_kept(const Storage& storage) const {
  if (!is_on()) return Kept::may_go;
  const SpinLockGuard lock(lock_);
  const Contents* const contents = contents_at(storage);
  // The planner has one handle.
  if (contents == nullptr || contents->handle == nullptr) return Kept::is_held;
  if (contents->recipe == nullptr) return Kept::has_no_recipe;
  if (storage.handles.load(std::memory_order_relaxed) > 1) return Kept::is_held;
  return contents->work_to_drop < 0 ? Kept::needs_too_much : Kept::may_go;
}

int Plan::own_handles(const Storage& storage) const {
  const SpinLockGuard lock(lock_);
  const Contents* const contents = contents_at(storage);
  if (contents == nullptr || contents->handle == nullptr) return 0;
  return contents->saves > 0 && !contents->is_overwritten ? 0 : 1;
}

void Plan::reset_figures() {
  const SpinLockGuard lock(lock_);
  figures_ = {};
}

Planner::Figures Plan::figures() const {
  const SpinLockGuard lock(lock_);
  return figures_;
}

void Plan::count_work(std::int64_t work) {
  queued_work_ += static_cast<std::uint64_t>(work);
  figures_.work += work;
}

void Plan::submit(const Submission& submission) {
  if (!is_on() && !writes_contents(submission)) return submit_as_it_is(submission);
  const Writing writing(*this, submission);
  std::optional<NewContents> results;
  std::int64_t work = 0;
  if (is_on()) {
    work = work_of(submission);
    if (can_be_repeated(submission)) results.emplace(*this).prepare(submission, work);
    make_room(*submission.operands[0].impl->storage->device);
  }
  try {
    submit_as_it_is(submission);
  } catch (...) {
    note_failed(submission);
    throw;
  }
  note_written(submission, writing, results ? &*results : nullptr, work);
  results.reset();
  tidy();
}

// The operation may have been queued, and counted as a write, before what it threw.
void Plan::note_failed(const Submission& submission) noexcept {
  for (const OperandRef& ref : written(submission)) {
    const HandleToDrop dropped = [&]() -> Storage* {
      const SpinLockGuard lock(lock_);
      Contents* const before = contents_at(*ref.impl->storage);
      return before == nullptr || before->version == ref.impl->storage->version ? nullptr : overwrite(*before);
    }();
  }
  tidy();
}

// Nothing may be thrown once the operation is queued. Another thread may have seen the write before this, and have made
// the contents that are there now: they stay.
void Plan::note_written(const Submission& submission, const Writing& writing, NewContents* results,
                        std::int64_t work) noexcept {
  std::vector<std::unique_ptr<Contents>> taken;
  {
    const SpinLockGuard lock(lock_);
    count_work(work);
    if (results != nullptr && results->are_true(submission)) taken = results->take();
  }
  std::size_t operand = 0;
  for (const OperandRef& ref : written(submission)) {
    const std::size_t i = operand++;
    Storage& storage = *ref.impl->storage;
    const HandleToDrop dropped = [&] {
      const SpinLockGuard lock(lock_);
      Contents* const there = contents_at(storage);
      const bool are_new = there != nullptr && there->version == storage.version;
      Storage* const left = there == nullptr || are_new ? nullptr : overwrite(*there);
      if (taken.empty()) return left;
      Contents* const made = taken[i].release();
      const bool is_known = !are_new && storage.version == writing.version_after(i);
      is_known ? hold(*made, storage, writing.version_after(i)) : end(made);
      return left;
    }();
  }
}

}  // namespace asyncgrad::detail
