// The functions that the program's threads call to submit operations, to hand data over and to wait for values.
// Internal.
#pragma once

#include <cstddef>
#include <span>

#include "asyncgrad/core/engine/front_end/program_queue.h"
#include "asyncgrad/core/engine/submit.h"

namespace asyncgrad::detail {

// The calls that may block, and one that asks whether a wait would. It has no state of its own: each call tries under
// the queue's lock, and waits outside of it for what it lacks.
//
// Thread safety: any thread may call any function, outside of operations: inside of one all but is_finished() throw
// Error.
class FrontEnd {
 public:
  explicit FrontEnd(ProgramQueue& queue) : queue_(queue) {}

  // See submit.h.
  void submit(const Submission& submission);
  // Copies the user's values into a storage that nothing has written. May wait for room in memory.
  void hand_over(Storage& storage, const Shape& shape, const void* values, std::size_t size_bytes, Location where);
  // Waits for the last write to `storage` queued so far; throws the cause if its value is poisoned.
  void wait(Storage& storage);
  // Whether wait() would return or throw at once. Does not block.
  bool is_finished(const Storage& storage);

 private:
  void finish(std::span<const OperandRef> operands);

  ProgramQueue& queue_;
};

}  // namespace asyncgrad::detail
