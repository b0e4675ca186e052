#include "asyncgrad/autograd/budget/plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "asyncgrad/core/backend/custom_kernel.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/memory/device_memory.h"
#include "asyncgrad/core/sync/fork_locks.h"
#include "asyncgrad/core/sync/raise_to.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::detail {

namespace {

constexpr std::int64_t min_dropped_bytes = 64 << 10;
// The most contents that no storage holds and that are computed one after another.
constexpr int max_depth = 16;
// About as many values are searched anew for each one that is dropped; the work of others is from some scans before.
constexpr std::uint64_t searches_per_scan = 64;
// The part of the budget up to which values stay: the rest is for sources that run ahead.
constexpr double kept_share = 0.96;

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

bool is_whole(const TensorImpl& impl) {
  return impl.shape.numel() * static_cast<std::int64_t>(size_bytes(impl.dtype)) == impl.storage->value_bytes;
}

// Whether the operation would compute the same again, and nothing else.
bool can_be_repeated(const Submission& submission) {
  if (submission.op == Op::source) return false;
  if (submission.op == Op::custom &&
      !static_cast<const CustomAttributes*>(submission.attributes)->kernel->recomputable) {
    return false;
  }
  const Device device = submission.operands[0].impl->device;
  return std::ranges::all_of(submission.operands, [&](const OperandRef& ref) {
    return ref.impl->device == device && !ref.impl->storage->is_exposed &&
           (ref.access == Access::read || (ref.access == Access::write && is_whole(*ref.impl)));
  });
}

Contents* contents_at(const Storage& storage) { return storage.contents.load(std::memory_order_acquire); }

}  // namespace

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

// A thread's reference to the recipe of absent contents. Throws Error if they have none.
class Plan::RecipeReference {
 public:
  RecipeReference(Plan& plan, Contents& contents) : plan_(plan), recipe_(counted(plan, contents)) {
    if (recipe_ == nullptr) throw_error("backward", "a value that was dropped cannot be computed again");
  }
  RecipeReference(const RecipeReference&) = delete;
  RecipeReference& operator=(const RecipeReference&) = delete;
  ~RecipeReference() {
    const SpinLockGuard lock(plan_.lock_);
    Contents* ended = nullptr;
    plan_.release(*recipe_, ended);
    plan_.end(ended);
  }
  const Recipe* operator->() const { return recipe_; }
  const Recipe& operator*() const { return *recipe_; }

 private:
  static Recipe* counted(Plan& plan, Contents& contents) {
    const SpinLockGuard lock(plan.lock_);
    if (contents.recipe != nullptr) ++contents.recipe->references;
    return contents.recipe;
  }

  Plan& plan_;
  Recipe* recipe_;
};

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
    try {
      for (const OperandRef& ref : submission.operands) {
        if (ref.access == Access::read) break;  // results come first
        close(*ref.impl->storage);
      }
    } catch (...) {
      open();
      throw;
    }
  }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;
  ~Writing() { open(); }

 private:
  void close(Storage& storage) {
    if (contents_at(storage) == nullptr) return;
    closing_.reserve(closing_.size() + 1);
    {
      const SpinLockGuard lock(plan_.lock_);
      Contents* const contents = contents_at(storage);
      if (contents == nullptr) return;
      ++contents->references;
      ++contents->closing;
      closing_.emplace_back(plan_, contents);
    }
    plan_.bring_back_readers(*closing_.back());
  }
  void open() {
    const SpinLockGuard lock(plan_.lock_);
    for (const Reference& contents : closing_) --(*contents).closing;
  }

  Plan& plan_;
  std::vector<Reference> closing_;
};

Plan& Plan::get() {
  static Plan* const plan = [] {  // never destroyed, because some tensors end at exit
    auto* const made = new Plan;
    ForkLocks::add(made->lock_, ForkLocks::Kind::outer);
    return made;
  }();
  return *plan;
}

const bool Plan::is_offered = made_at_load([] { offer(get()); });

void Plan::set_budget(std::optional<std::int64_t> bytes) {
  budget_bytes_.store(bytes.value_or(0), std::memory_order_relaxed);
  is_on_.store(bytes.has_value(), std::memory_order_relaxed);
}

const char* Plan::why_kept(const Storage& storage) const {
  if (!is_on()) return "";
  const SpinLockGuard lock(lock_);
  const Contents* const contents = contents_at(storage);
  if (contents == nullptr || !contents->has_handle) return "; held by the program";
  if (contents->recipe == nullptr) return "; cannot be computed again";
  if (storage.handles.load(std::memory_order_relaxed) > 1) return "; held by the program, or in use";
  return contents->work_to_drop < 0 ? "; needs too much that is not there" : "";
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

// --- Submitting.

void Plan::submit(const Submission& submission) {
  const Writing writing(*this, submission);
  std::optional<NewContents> results;
  std::int64_t work = 0;
  if (is_on()) {
    work = work_of(submission);
    if (can_be_repeated(submission)) results.emplace(*this).prepare(submission, work);
    make_room(*submission.operands[0].impl->storage->device);
  }
  submit_as_it_is(submission);
  note_written(submission, results ? &*results : nullptr, work);
  results.reset();
  tidy();
}

// Nothing may be thrown once the operation is queued.
void Plan::note_written(const Submission& submission, NewContents* results, std::int64_t work) noexcept {
  std::vector<std::unique_ptr<Contents>> taken;
  {
    const SpinLockGuard lock(lock_);
    count_work(work);
    if (results != nullptr && results->are_true(submission)) taken = results->take();
  }
  std::size_t result = 0;
  for (const OperandRef& ref : submission.operands) {
    if (ref.access == Access::read) break;
    Storage& storage = *ref.impl->storage;
    const HandleToDrop dropped = [&] {
      const SpinLockGuard lock(lock_);
      Contents* const before = contents_at(storage);
      Storage* const left = before == nullptr ? nullptr : overwrite(*before);
      if (!taken.empty()) hold(*taken[result++].release(), storage);
      return left;
    }();
  }
}

void Plan::make_room(DeviceMemory& device) {
  if (!is_on()) return;
  const auto kept =
      static_cast<std::int64_t>(kept_share * static_cast<double>(budget_bytes_.load(std::memory_order_relaxed)));
  for (;;) {
    const std::int64_t level = device.serial_live.total();
    // Relaxed: a hint that falls behind at worst.
    if (level <= std::max(kept, device.planned_level.load(std::memory_order_relaxed)) && !drops_all_) return;
    const HandleToDrop dropped = [&]() -> Storage* {
      const SpinLockGuard lock(lock_);
      Contents* const contents = cheapest(device);
      return contents == nullptr ? nullptr : leave(*contents);
    }();
    if (dropped.is_none()) {
      if (level > kept) raise_to(device.planned_level, level, std::memory_order_relaxed);
      return;
    }
  }
}

Contents* Plan::cheapest(const DeviceMemory& device) {
  ++scans_;
  const std::uint64_t scans_between_searches = with_handle_ / searches_per_scan;
  for (;;) {
    Contents* best = nullptr;
    double least = std::numeric_limits<double>::infinity();
    for (Contents* contents = first_with_handle_; contents != nullptr; contents = contents->after) {
      const Storage& storage = *contents->storage;
      // Acquire: the threads that dropped the other handles are done with the storage.
      if (storage.device != &device || storage.size_bytes < (drops_all_ ? 0 : min_dropped_bytes) ||
          storage.handles.load(std::memory_order_acquire) != 1) {
        continue;
      }
      if (contents->last_search + scans_between_searches < scans_) find_work_to_drop(*contents);
      if (contents->work_to_drop < 0) continue;
      const auto age = static_cast<double>(queued_work_ - contents->last_use + 1);
      const double price =
          static_cast<double>(contents->work_to_drop) / (static_cast<double>(storage.size_bytes) * std::sqrt(age));
      if (price >= least) continue;
      least = price;
      best = contents;
    }
    if (best == nullptr || best->last_search == scans_) return best;
    find_work_to_drop(*best);
    if (best->work_to_drop >= 0) return best;
  }
}

void Plan::find_work_to_drop(Contents& contents) {
  contents.work_to_drop = work_to_drop(contents);
  contents.last_search = scans_;
}

std::int64_t Plan::work_to_drop(Contents& contents) {
  const std::int64_t work = work_to_compute(contents);
  return work >= 0 && depth_below(contents) + depth_above(contents) <= max_depth ? work : -1;
}

std::int64_t Plan::work_to_compute(Contents& contents) {
  ++searches_;
  return search(contents);
}

std::int64_t Plan::search(Contents& contents) {
  contents.mark = searches_;
  if (contents.recipe == nullptr) return -1;
  std::int64_t work = contents.recipe->work;
  for (const Recipe::Read& read : contents.recipe->reads) {
    Contents& operand = *read.contents;
    if (operand.is_available() || operand.mark == searches_) continue;
    const std::int64_t more = search(operand);
    if (more < 0) return -1;
    work += more;
  }
  return work;
}

int Plan::depth_below(Contents& contents) {
  ++searches_;
  return search_below(contents);
}

int Plan::search_below(Contents& contents) {
  contents.depth_mark = searches_;
  contents.depth = 1;
  if (contents.recipe == nullptr) return 1;
  for (const Recipe::Read& read : contents.recipe->reads) {
    Contents& operand = *read.contents;
    if (operand.is_available()) continue;
    const int below = operand.depth_mark == searches_ ? operand.depth : search_below(operand);
    contents.depth = std::max(contents.depth, 1 + below);
  }
  return contents.depth;
}

int Plan::depth_above(Contents& contents) {
  ++searches_;
  return search_above(contents);
}

int Plan::search_above(Contents& contents) {
  contents.depth_mark = searches_;
  contents.depth = 0;
  for (const Need* need = contents.needed_by; need != nullptr; need = need->after) {
    Contents& reader = *need->reader;
    const int above = reader.depth_mark == searches_ ? reader.depth : search_above(reader);
    contents.depth = std::max(contents.depth, 1 + above);
  }
  return contents.depth;
}

// --- Contents and their storages.

// The contents of the storage, with a reference to them.
Contents* Plan::obtain(Storage& storage) {
  std::unique_ptr<Contents> made;
  if (contents_at(storage) == nullptr) made = std::make_unique<Contents>();
  for (;;) {
    {
      const SpinLockGuard lock(lock_);
      Contents* contents = contents_at(storage);
      if (contents == nullptr && made != nullptr) {
        contents = made.release();
        hold(*contents, storage);
      }
      if (contents != nullptr) {
        ++contents->references;
        return contents;
      }
    }
    made = std::make_unique<Contents>();  // another thread has just written there
  }
}

void Plan::hold(Contents& contents, Storage& storage) {
  contents.storage = &storage;
  contents.version = storage.version.load(std::memory_order_relaxed);
  ++contents.references;
  storage.contents.store(&contents, std::memory_order_release);
  contents.last_use = queued_work_;
  if (contents.is_needed()) take_handle(contents);
  if (contents.is_absent) release_operands(contents);
}

Storage* Plan::leave(Contents& contents) {
  Storage* const handle = contents.has_handle ? &give_handle(contents) : nullptr;
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
  contents.has_handle = true;
  contents.before = nullptr;
  contents.after = first_with_handle_;
  if (contents.after != nullptr) contents.after->before = &contents;
  first_with_handle_ = &contents;
  ++with_handle_;
  contents.last_search = 0;
}

Storage& Plan::give_handle(Contents& contents) {
  contents.has_handle = false;
  --with_handle_;
  (contents.before == nullptr ? first_with_handle_ : contents.before->after) = contents.after;
  if (contents.after != nullptr) contents.after->before = contents.before;
  return *contents.storage;
}

void Plan::need_operands(Contents& contents) {
  contents.is_absent = true;
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
  if (!contents.has_handle || contents.is_unneeded) return;
  contents.is_unneeded = true;
  ++contents.references;
  contents.next = first_unneeded_;
  first_unneeded_ = &contents;
}

// One at a time, so that no list needs memory.
void Plan::tidy() noexcept {
  for (bool is_done = false; !is_done;) {
    std::unique_ptr<Recipe> ended;
    const HandleToDrop dropped = [&]() -> Storage* {
      const SpinLockGuard lock(lock_);
      ended.reset(first_ended_);
      if (first_ended_ != nullptr) first_ended_ = first_ended_->next;
      is_done = first_unneeded_ == nullptr && first_ended_ == nullptr;
      if (first_unneeded_ == nullptr) return nullptr;
      Contents& contents = *first_unneeded_;
      first_unneeded_ = contents.next;
      contents.is_unneeded = false;
      // It may be needed again.
      Storage* const handle = contents.has_handle && !contents.is_needed() ? &give_handle(contents) : nullptr;
      release(contents);
      return handle;
    }();
  }
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

void Plan::expose(Storage& storage) {
  if (contents_at(storage) == nullptr) return;
  const Reference contents(*this, obtain(storage));
  bring_back_readers(*contents);
  const SpinLockGuard lock(lock_);
  if ((*contents).storage == &storage && (*contents).recipe != nullptr) cut(*contents);
}

// The write was another operation than the one that computed what is there now.
void Plan::restored(Storage& storage) noexcept {
  const SpinLockGuard lock(lock_);
  Contents* const contents = contents_at(storage);
  if (contents != nullptr && contents->recipe != nullptr) cut(*contents);
}

// --- Saved tensors.

Contents* Plan::save(const Tensor& tensor) {
  Contents* const contents = obtain(*tensor.impl()->storage);
  const SpinLockGuard lock(lock_);
  ++contents->saves;
  contents->last_use = queued_work_;
  if (contents->storage != nullptr && !contents->has_handle) take_handle(*contents);
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
  {
    const SpinLockGuard lock(lock_);
    if (contents.is_overwritten) return {};
    if (contents.storage != nullptr && contents.storage->version != contents.version) return {};
    contents.last_use = queued_work_;
  }
  return find(contents, part).tensor;
}

Plan::Found Plan::find(Contents& contents, const Part& part) {
  for (;;) {
    Found held = find_held(contents, part);
    if (held.tensor.defined()) return held;
    const Found again = bring_back(contents);
    if (again.tensor.defined()) return {NewView(part).of(*again.tensor.impl()->storage), again.version};
  }
}

// Tensor{} if no storage holds the contents.
Plan::Found Plan::find_held(Contents& contents, const Part& part) {
  for (NewView view(part);; pause_briefly()) {
    const SpinLockGuard lock(lock_);
    Storage* const storage = contents.storage;
    if (storage == nullptr) return {};
    // Relaxed: nobody adds a handle to none. Where there is none, or versions differ, another thread has dropped the
    // last one, or written, and is about to take the lock.
    if (storage->handles.load(std::memory_order_relaxed) > 0 && storage->version == contents.version) {
      return {view.of(*storage), contents.version};
    }
  }
}

// --- Bringing back.

// Queues the recipe again. Tensor{} if another thread has written meanwhile what the recipe reads: what needs that has
// come back before, so that trying again ends.
Plan::Found Plan::bring_back(Contents& contents) {
  const RecipeReference recipe(*this, contents);
  std::vector<Found> reads;
  std::vector<Tensor> results;
  std::vector<OperandRef> operands;
  for (const Recipe::Read& read : recipe->reads) reads.push_back(find(*read.contents, read.part));
  for (const Recipe::Result& result : recipe->results) {
    results.push_back(make_tensor(result.part.shape, result.part.dtype, result.part.device));
  }
  for (const Tensor& result : results) operands.push_back(writes(result));
  for (const Found& read : reads) operands.push_back(detail::reads(read.tensor));
  const AgainScope scope(recipe->origin);
  make_room(*results[0].impl()->storage->device);
  submit_as_it_is({.op = recipe->op,
                   .operands = operands,
                   .attributes = recipe->attributes.data(),
                   .attribute_bytes = recipe->attribute_bytes,
                   .where = recipe->origin.where,
                   .owned = recipe->owned == nullptr ? nullptr : &recipe->owned});
  const Tensor& result = results[static_cast<std::size_t>(contents.result)];
  Found again{result, result.impl()->storage->version};
  if (!note_computed_again(*recipe, reads, results)) return {};
  tidy();
  return again;
}

// Whether the operation has read what the recipe says: versions rise as writes are queued. Another thread may have
// brought the same contents back; then these results are its caller's alone.
bool Plan::note_computed_again(const Recipe& recipe, std::span<const Found> reads, std::span<const Tensor> results) {
  const SpinLockGuard lock(lock_);
  figures_.recomputed_operations += 1;
  figures_.recomputed_work += recipe.work;
  count_work(recipe.work);
  const auto was_written = [](const Found& read) { return read.tensor.impl()->storage->version != read.version; };
  if (std::ranges::any_of(reads, was_written)) return false;
  for (std::size_t i = 0; i < results.size(); ++i) {
    Contents* const result = recipe.results[i].contents;
    if (result != nullptr && result->is_absent) hold(*result, *results[i].impl()->storage);
  }
  return true;
}

// Ends: each round removes a reader, and none that cannot be computed without these contents is dropped meanwhile. What
// no saved tensor has is held by the planner as long as others need it.
void Plan::bring_back_readers(Contents& contents) {
  for (;;) {
    Contents* lost = nullptr;
    {
      const SpinLockGuard lock(lock_);
      lost = lost_reader(contents);
      if (lost == nullptr) return;
      ++lost->references;
    }
    const Reference reader(*this, lost);
    bring_back(*reader);
  }
}

// An absent reader that cannot be computed without the contents, or null.
Contents* Plan::lost_reader(const Contents& contents) {
  for (const Need* need = contents.needed_by; need != nullptr; need = need->after) {
    if (work_to_compute(*need->reader) < 0) return need->reader;
  }
  return nullptr;
}

}  // namespace asyncgrad::detail
