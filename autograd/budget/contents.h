// How what storages hold is computed again. Internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "asyncgrad/core/backend/kernels.h"
#include "asyncgrad/core/memory/storage.h"
#include "asyncgrad/core/origin/origin.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::detail {

// The elements of a tensor within its storage.
struct Part {
  DType dtype;
  Shape shape;
  std::int64_t offset_bytes;
  Device device;
};
inline Part part_of(const TensorImpl& impl) { return {impl.dtype, impl.shape, impl.offset_bytes, impl.device}; }

// An operation that computed values from operands that it reads, and would compute the same values again. It does not
// change once others see it; `references` and Result::contents are under the planner's lock.
struct Recipe {
  struct Result {
    Contents* contents = nullptr;  // null: it has ended
    Part part;
  };
  struct Read {
    Contents* contents;  // counted in Contents::references
    Part part;
  };

  Op op;
  alignas(16) std::array<std::byte, max_attribute_bytes> attributes;
  std::size_t attribute_bytes;
  Origin origin;
  std::int64_t work;                  // see work_of()
  std::shared_ptr<const void> owned;  // see Submission
  std::vector<Result> results;
  std::vector<Read> reads;
  std::int64_t result_bytes = 0;
  int references = 0;
  Recipe* next = nullptr;  // of those that have ended, and are still to give up what they own
};

// Says that absent contents cannot be computed without others: a member of the list of those others.
struct Need {
  Contents* reader = nullptr;
  Need *before = nullptr, *after = nullptr;
};

// What a storage holds from one write to the next. All members are under the planner's lock.
//
// Held: a storage holds them. Absent: no storage does, but they are needed; what their recipe reads is needed, too.
// Gone: nobody needs them.
struct Contents {
  // Of the storage that holds them, of saved tensors, of recipes that read them, and of threads that use them.
  int references = 0;
  Storage* storage = nullptr;  // that holds them, or null
  // Of the storage, while it holds them. Once it has another, the storage was written, and they are there no more.
  std::uint32_t version = 0;
  Recipe* recipe = nullptr;  // counted in Recipe::references; null: they cannot be computed again
  int result = 0;            // their place among the recipe's results
  int saves = 0;             // how many saved tensors have them
  Location saved_at{};       // the call that saved them last, and the work that had been queued by then
  std::uint64_t saved_when = 0;
  // How many threads are about to overwrite them, or to hand them over to the program: nothing is dropped that needs them.
  // Until then they are there.
  int closing = 0;
  bool is_overwritten = false;

  // The storage of which the planner has a handle, or null, and its place in the list of contents that may be dropped.
  Storage* handle = nullptr;
  bool is_candidate = false;
  bool is_unneeded = false;  // and listed as such, which counts in `references`
  Contents *before = nullptr, *after = nullptr;

  Need* needed_by = nullptr;      // the first of the absent contents that need these
  std::unique_ptr<Need[]> needs;  // a place for each operand that the recipe reads
  bool is_absent = false;         // `needs` are in the operands' lists

  std::int64_t work_to_drop = 0;  // as the search of the scan `last_search` found it; -1: they cannot be dropped
  std::uint64_t last_search = 0;
  int above = 0;  // of gone contents: how many gone ones, one after another, are computed from these at least
  std::uint64_t last_use = 0;              // the work that had been queued by then
  std::uint64_t mark = 0, depth_mark = 0;  // of the searches that last came here
  int depth = 0;                           // what the latter one found

  Contents* next = nullptr;  // of the list of contents that are not needed any more, or of those that end

  // Whether a computation has read them that the program does not know of.
  bool was_read_again = false;

  bool is_needed() const { return (saves > 0 && !is_overwritten) || needed_by != nullptr; }
  // Whether recipes may read them where they are: now, and later, too.
  bool is_there() const { return storage != nullptr && !storage->is_exposed.load(std::memory_order_relaxed); }
  bool is_available() const { return closing == 0 && is_there(); }
};

}  // namespace asyncgrad::detail
