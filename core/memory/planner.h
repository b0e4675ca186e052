// The planner computes values again to keep memory within a budget; autograd has it. Internal.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace asyncgrad::detail {

struct DeviceMemory;
struct Storage;
struct Submission;

// Any thread may call the functions, except where it says otherwise.
class Planner {
 public:
  // Called in place of the engine's function, which it calls itself.
  virtual void submit(const Submission& submission) = 0;
  // Called before values of the program are handed over to a new storage of the device.
  virtual void make_room(DeviceMemory& device) = 0;
  // Called when the last handle of a storage with contents goes; `counted`: whether Storage::handles still counts it.
  // Returns false if the storage is to live on: another thread has a handle now, or the planner has taken this one.
  // Throws nothing.
  virtual bool lets_go(Storage& storage, bool counted) noexcept = 0;
  // Called before the program gets the address of a storage's values, and may write them without an operation. Marks the
  // storage as exposed. Returns whether values were computed again from it.
  virtual bool expose(Storage& storage) = 0;
  // Called when recover() makes the value from before the last write valid again.
  virtual void restored(Storage& storage) noexcept = 0;
  // Drops what the other functions could not drop at once. Its caller holds no lock.
  virtual void tidy() noexcept = 0;
  // Throws Error if a tape has values that were dropped: a dry run could not bring them back.
  virtual void check_nothing_is_absent() const = 0;
  // Why the storage's value is not dropped now. The caller keeps the storage.
  enum class Kept : std::uint8_t { is_held, has_no_recipe, needs_too_much, may_go };
  virtual Kept why_kept(const Storage& storage) const = 0;
  // The handles of the storage, 1 or none, that the planner has for nothing but to compute other values again. The caller
  // keeps the storage.
  virtual int own_handles(const Storage& storage) const = 0;
  virtual void reset_figures() = 0;
  struct Figures {
    // See EngineFigures.
    std::int64_t recomputed_operations = 0, recomputed_work = 0, work = 0, recomputed_before_writes = 0;
  };
  virtual Figures figures() const = 0;
  // The budget of each device; none: values are not dropped any more, and those that are absent come back when they are
  // needed. `keeps_values`: in a dry run, values that exist are not dropped. While nothing is queued and no other thread
  // calls.
  virtual void set_budget(std::optional<std::int64_t> bytes, bool keeps_values) = 0;

  // Null until a budget was first set. Release, acquire: a thread that sees it sees it whole.
  static Planner* get() { return active_.load(std::memory_order_acquire); }
  // Sets the budget of the planner that there is, and makes get() return it.
  static void activate(std::int64_t budget_bytes, bool keeps_values) {
    active_.store(available_, std::memory_order_release);  // before the first value is dropped
    available_->set_budget(budget_bytes, keeps_values);
  }

 protected:
  ~Planner() = default;
  // Called while the library is loaded.
  static bool offer(Planner& planner) {
    available_ = &planner;
    return true;
  }

 private:
  static inline constinit std::atomic<Planner*> active_{nullptr};
  static inline constinit Planner* available_ = nullptr;
};

// Says that the program may write the storage's values without an operation from now on. Returns whether operations that
// the program does not know of may still read them.
bool expose(Storage& storage);

}  // namespace asyncgrad::detail
