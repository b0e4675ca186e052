// Which values are dropped to keep the serial peak within the budget, and how they come back. Internal.
//
// A value that the tape alone holds is dropped by dropping the tape's handle. It comes back by queueing its recipe, an
// ordinary operation, into a new storage. The engine knows of neither. What is dropped depends on the order of calls
// and on sizes alone, so that it is the same in every run of a program with one queueing thread.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>

#include "asyncgrad/autograd/budget/contents.h"
#include "asyncgrad/core/memory/planner.h"
#include "asyncgrad/core/sync/spin_lock.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad::detail {

struct OperandRef;
struct Submission;

// Smaller values are not dropped.
constexpr std::int64_t min_dropped_bytes = 64 << 10;
// The most contents that no storage holds and that are computed one after another.
constexpr int max_depth = 16;

// Thread safety: any thread may call the functions, where planner.h does not say otherwise. The lock is held for
// searches and changes of lists, never while operations are queued, memory is allocated or a handle is dropped.
class Plan final : public Planner {
 public:
  static Plan& get();

  void submit(const Submission& submission) override;
  void make_room(DeviceMemory& device) override;
  bool lets_go(Storage& storage, bool counted) noexcept override;
  bool expose(Storage& storage) override;
  void restored(Storage& storage) noexcept override;
  void tidy() noexcept override;
  void check_nothing_is_absent() const override;
  Kept why_kept(const Storage& storage) const override;
  int own_handles(const Storage& storage) const override;
  void reset_figures() override;
  Figures figures() const override;
  void set_budget(std::optional<std::int64_t> bytes, bool keeps_values) override;

  // Whether values may be dropped. Relaxed: it changes only while no other thread queues.
  bool is_on() const { return is_on_.load(std::memory_order_relaxed); }

  // Counts one saved tensor more of what the tensor holds now, or one less.
  Contents* save(const Tensor& tensor);
  void forget(Contents& contents) noexcept;
  // A tensor of saved contents, which are computed again if they are absent. Tensor{} if they were written in place.
  Tensor read(Contents& contents, const Part& part);

  // For tests: drops every value that may be dropped, whatever the level.
  void drop_all(bool is_wanted) { drops_all_ = is_wanted; }

 private:
  class Reference;
  class Closing;
  class Writing;
  class NewContents;
  class RecipeReference;

  // A tensor of contents, and the version of its storage that held them.
  struct Found {
    Tensor tensor;
    std::uint32_t version = 0;
  };
  Found find(Contents& contents, const Part& part);
  Found find_held(Contents& contents, const Part& part);
  Found bring_back(Contents& contents);
  // Returns the call that saved last what has come back. Its file is null if nothing has.
  Location bring_back_readers(Contents& contents);
  bool note_computed_again(const Recipe& recipe, std::span<const Found> reads, std::span<const Tensor> results);
  Contents* obtain(Storage& storage);
  void note_written(const Submission& submission, const Writing& writing, NewContents* results,
                    std::int64_t work) noexcept;
  void note_failed(const Submission& submission) noexcept;
  void submit_again(const Recipe& recipe, std::span<const OperandRef> operands);

  // --- Under the lock. None of them throws, takes memory or drops a handle. ---
  void hold(Contents& contents, Storage& storage, std::uint32_t version) ASYNCGRAD_REQUIRES(lock_);
  // The storage holds the contents no longer. They return the storage whose handle the caller is to drop, or null.
  Storage* leave(Contents& contents) ASYNCGRAD_REQUIRES(lock_);
  Storage* overwrite(Contents& contents) ASYNCGRAD_REQUIRES(lock_);
  void take_handle(Contents& contents) ASYNCGRAD_REQUIRES(lock_);
  // The caller is to drop the handle.
  Storage& give_handle(Contents& contents) ASYNCGRAD_REQUIRES(lock_);
  void need_operands(Contents& contents) ASYNCGRAD_REQUIRES(lock_);
  void release_operands(Contents& contents) ASYNCGRAD_REQUIRES(lock_);
  void note_unneeded(Contents& contents) ASYNCGRAD_REQUIRES(lock_);
  void note_gone(Contents& contents) ASYNCGRAD_REQUIRES(lock_);
  void raise_above(Contents& contents, int above) ASYNCGRAD_REQUIRES(lock_);
  void cut(Contents& contents) ASYNCGRAD_REQUIRES(lock_);
  void release(Contents& contents) ASYNCGRAD_REQUIRES(lock_);
  void release(Recipe& recipe, Contents*& ended) ASYNCGRAD_REQUIRES(lock_);
  void end(Contents* ended) ASYNCGRAD_REQUIRES(lock_);
  void count_work(std::int64_t work) ASYNCGRAD_REQUIRES(lock_);
  // The work of computing the contents by their recipe, and before that what it reads and is not available. -1 if it
  // cannot be done; work_to_drop() also if too many would be computed one after another, or too large ones. `from_closing`:
  // what is closing may be read.
  std::int64_t work_to_compute(Contents& contents, bool from_closing = false) ASYNCGRAD_REQUIRES(lock_);
  std::int64_t work_to_drop(Contents& contents) ASYNCGRAD_REQUIRES(lock_);
  std::int64_t search(Contents& contents, bool from_closing) ASYNCGRAD_REQUIRES(lock_);
  bool is_lost(Contents& contents) ASYNCGRAD_REQUIRES(lock_);
  bool search_lost(Contents& contents) ASYNCGRAD_REQUIRES(lock_);
  // How many contents that are not held are computed one after another for these, these included; and for absent ones
  // that need these.
  int depth_below(Contents& contents) ASYNCGRAD_REQUIRES(lock_);
  int search_below(Contents& contents) ASYNCGRAD_REQUIRES(lock_);
  int depth_above(Contents& contents) ASYNCGRAD_REQUIRES(lock_);
  int search_above(Contents& contents) ASYNCGRAD_REQUIRES(lock_);
  Contents* lost_reader(const Contents& contents) ASYNCGRAD_REQUIRES(lock_);
  // The contents that were saved last, of these and those that need them.
  const Contents& saved_last(Contents& contents) ASYNCGRAD_REQUIRES(lock_);
  const Contents& search_saved_last(Contents& contents) ASYNCGRAD_REQUIRES(lock_);
  Contents* cheapest(const DeviceMemory& device) ASYNCGRAD_REQUIRES(lock_);
  Contents* cheapest_searched_within(std::uint64_t scans, const DeviceMemory& device) ASYNCGRAD_REQUIRES(lock_);
  bool may_go(const Contents& contents, const DeviceMemory& device) const ASYNCGRAD_REQUIRES(lock_);
  void find_work_to_drop(Contents& contents) ASYNCGRAD_REQUIRES(lock_);

  static const bool is_offered;

  mutable SpinLock lock_;
  std::atomic<bool> is_on_{false};
  std::atomic<std::int64_t> budget_bytes_{0};  // relaxed: it changes as is_on_ does
  bool drops_all_ = false;
  std::atomic<bool> keeps_values_{false};  // relaxed: the same
  std::atomic<bool> is_untidy_{false};     // relaxed: a hint; the lists are under the lock
  // Contents of which the planner has a handle, and that are large enough to be dropped.
  Contents* first_candidate_ ASYNCGRAD_GUARDED_BY(lock_) = nullptr;
  std::uint64_t candidates_ ASYNCGRAD_GUARDED_BY(lock_) = 0;  // how many
  std::int64_t absent_ ASYNCGRAD_GUARDED_BY(lock_) = 0;
  std::int64_t largest_results_ ASYNCGRAD_GUARDED_BY(lock_) = 0;  // of a recipe that the last search came to, in bytes
  Recipe* first_ended_ ASYNCGRAD_GUARDED_BY(lock_) = nullptr;
  Contents* first_unneeded_ ASYNCGRAD_GUARDED_BY(lock_) = nullptr;
  std::uint64_t searches_ ASYNCGRAD_GUARDED_BY(lock_) = 0;
  std::uint64_t scans_ ASYNCGRAD_GUARDED_BY(lock_) = 0;
  std::uint64_t queued_work_ ASYNCGRAD_GUARDED_BY(lock_) = 0;  // the clock by which values age
  Figures figures_ ASYNCGRAD_GUARDED_BY(lock_);
};

}  // namespace asyncgrad::detail
