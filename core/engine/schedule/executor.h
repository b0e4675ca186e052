// Where operations run. Internal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "asyncgrad/core/engine/record/operation.h"
#include "asyncgrad/core/engine/schedule/devices.h"
#include "asyncgrad/core/engine/schedule/ready_set.h"
#include "asyncgrad/core/engine/threads/waiters.h"
#include "asyncgrad/core/engine/threads/workers.h"

namespace asyncgrad::detail {

class Engine;

// Takes operations that wait for nothing any more and runs them, the oldest first, as far as memory allows. There are
// two kinds. A Pool computes them on its threads. A Launcher issues them to the queues of an asynchronous device.
//
// Thread safety: any thread may call any function at any time, but make_ready_set only while nothing is queued.
class Stream : public Work {
 public:
  // Of `device`, or of copies to it.
  Stream(Engine& engine, Waiters& waiters, DeviceState& device)
      : engine_(engine), device_(device), crew_(*this, waiters) {}
  ~Stream() override = default;

  // An issued operation is not yet complete.
  bool is_asynchronous() const { return device_.is_asynchronous; }
  // Whoever computes may set aside what it will come to next, without looking for it, see Turn.
  bool passes_on() const { return !is_asynchronous() && ready_queue_ == nullptr; }
  Crew& crew() { return crew_; }

  // `slots`: of the ring. `by_readiness`: what is ready first is first.
  void make_ready_set(std::size_t slots, bool by_readiness);
  // An operation of this stream, blocked so far, may run. Tells nobody.
  void make_ready(Operation& operation);
  // The same of several: `first` + i where bit i is set.
  void make_ready(std::uint64_t first, std::uint64_t operations);
  // Some operation may be admitted now that was refused.
  void retry_refused() {
    if (refused_.load(std::memory_order_seq_cst) && refused_.exchange(false, std::memory_order_seq_cst)) {
      crew_.notify(1);
    }
  }

  // Work.
  bool offer_held() override;
  bool has_ready() const override { return ready_queue_ != nullptr || ready_->nearest(0, 0) >= 0; }
  void put_back(Turn& turn) override;
  void prefetch() const override;
  bool reached(const Goal& goal) const override;
  std::uint64_t enter_thread() override { return detail::enter_thread(*device_.backend); }
  void leave_thread(std::uint64_t previous) override { detail::leave_thread(*device_.backend, previous); }

 protected:
  enum class Outcome : std::uint8_t { ran, refused, gone };

  // Of an operation that this thread has claimed.
  //
  // Whether it may take its memory now, with so many bytes `held` beside what admission knows of.
  static bool admit(const Operation& operation, std::int64_t held = 0);
  // Asks once more, after it has said that one is refused: f may have come to it, or memory returned, before anybody
  // could read that.
  bool admit_at_last(const Operation& operation, std::int64_t held = 0);
  // Takes the memory. If there is none: the oldest operation waits while others compute, which may return some, and
  // then throws std::bad_alloc. Any other is put back, which is the meaning of false, and is tried again when one that
  // is older has ended; so is the oldest while this thread has something in flight that it `can_return`.
  bool take_or_park(Operation& operation, bool can_return);
  // What it takes. Throws std::bad_alloc with no result's memory taken.
  virtual void take(const Operation& operation);
  void note_refused();
  // Sets it ready, and puts it where it is found.
  void offer(Operation& operation);
  // Puts it back to ready. It is tried again when f of the order `oldest` comes to its `place` there.
  void make_ready_again(Operation& operation, const std::atomic<std::uint64_t>& oldest, std::uint64_t place);
  // After a refusal.
  void make_ready_again(Operation& operation) {
    const Place place = operation.place;
    make_ready_again(operation, *place.device->oldest, place.number);
  }

  Engine& engine_;
  DeviceState& device_;
  // Ready, and open with tiles left; by readiness the open ones only. Now and then a member is left over when two
  // threads came to an operation at once: whoever finds it is told by the record's word and stream.
  std::unique_ptr<ReadySet> ready_;
  std::unique_ptr<ReadyQueue> ready_queue_;  // by readiness: ready. Else null
  std::atomic<bool> refused_{false};         // somebody was refused; sequentially consistent with f
  Crew crew_;
};

}  // namespace asyncgrad::detail
