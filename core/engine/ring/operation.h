// The entry of a queued operation. Internal.
//
// Entries lie in a ring: operation n is in slot n mod the ring's size. The entry's word has its state, and the lower
// half of n, so that a thread that comes late does not mistake the slot's next owner for operation n. The states are:
//
//   blocked   queued; some operation that it depends on is unfinished, or it is staged. `pending`
//             counts those, and the front end itself while it ties the operation to others. The thread that counts the
//             last one down, or the front end if there is none, makes the entry
//   ready     offered to its executor, or the next one of a thread that computes, see Turn. A thread takes it by
//             compare-and-exchange to
//   claimed   owned by that thread, which asks for admission. If it is refused, the thread puts the entry back to
//             ready. Otherwise it takes the memory, and either runs the only tile or makes the entry
//   open      offered as long as it has tiles that no thread has begun: the word's lower half says which. The thread
//             that ends the last tile completes the operation: it releases the operands, finishes the operation in its
//             orders, which moves f, and counts down its successors. Then the entry is
//   retired   the front end may use the slot again, once f has passed it.
//
// On an asynchronous device `claimed` is followed by `issued`: the device's queue has the operation, and later
// operations on the device's queues may be issued, too. It is completed when the device is done with it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "asyncgrad/core/backend/kernels.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/memory/storage.h"
#include "asyncgrad/core/origin/launch_region.h"
#include "asyncgrad/core/origin/origin.h"

namespace asyncgrad::detail {

// Whether the kernel calls a function of the program, or of a library beside this one. It may wait for other threads.
inline bool runs_function(Op op) { return op == Op::custom || op == Op::source || op == Op::collective; }

class Executor;
struct Failure;
struct DeviceState;
struct Operation;

// Says how much of an operation a thread may compute while it waits for another one and must not be kept long.
enum class Help : std::uint8_t {
  none,   // it may take long: one long tile, or a function of the program
  tiles,  // of several
  whole,  // it is brief; only if a thread waits for it
};

// How long the kernel runs.
enum class Weight : std::uint8_t {
  tiny,   // less than it takes to hand it over to another thread, and to wait for it
  large,  // longer, or in several tiles
};

// A link in the list of successors of an operation. The entry of the successor owns it.
struct Edge {
  Operation* successor = nullptr;
  Edge* next = nullptr;  // in the list of the operation waited for
};
// Replaces a list of successors that accepts no more.
inline Edge* closed_list() {
  static constinit Edge mark;
  return &mark;
}
// An edge for which its entry has no room.
struct FurtherEdge : Edge {
  FurtherEdge* next_owned = nullptr;  // in the successor's chain, or in the pool
  std::uint64_t predecessor = 0;      // the operation waited for
  bool until_issued = false;          // the successor may be issued as soon as that one is issued
};

// The reader of a storage before this one, since its last write: a chain through the entries, youngest first.
struct ReaderLink {
  std::uint64_t number = 0;  // 0: none
  int operand = 0;
};

// A place in the order of one device.
struct Place {
  DeviceState* device = nullptr;
  std::uint64_t number = 0;
};

// The engine keeps this of an operand beside its view: it says where the bytes are.
struct Operand {
  Storage* storage = nullptr;
  std::int64_t offset_bytes = 0;
};

// The part of an operation that a kernel, a message or a profile needs, whether it is queued or computed at its call.
struct Invocation {
  const Kernel* kernel = nullptr;
  Operand* operands = nullptr;
  View* views = nullptr;  // of the same operands; see prepare() for their data
  const void* attributes = nullptr;
  const Origin* origin = nullptr;  // null: computed at its call, and nothing to be said of it yet
  int operand_count = 0;
  Op op{};
  bool checks_nan = false;  // see check_nan()

  KernelCall call() const { return {views, operand_count, attributes}; }
  std::span<Operand> all_operands() const { return {operands, static_cast<std::size_t>(operand_count)}; }
  std::span<View> all_views() const { return {views, static_cast<std::size_t>(operand_count)}; }
};

// The word of an entry.
struct Progress {
  std::uint32_t number;  // the lower half of the operation's number
  // While the operation is open, no thread has begun the tiles from `begin` on that lie before `above` - 1.
  std::uint16_t above;  // 0 unless open
  std::uint16_t begin;  // while not open, the state

  static constexpr std::uint16_t blocked = 0, ready = 1, claimed = 2;
  static constexpr int max_tiles = 0xfffe;

  bool is_of(std::uint64_t operation) const { return number == static_cast<std::uint32_t>(operation); }
  bool is(std::uint16_t state) const { return above == 0 && begin == state; }
  bool is_ready() const { return is(ready); }
  bool is_open() const { return above != 0; }
  int tiles_left() const { return is_open() ? above - 1 - begin : 0; }
  // Begins the first or the last tile of those that are left, of which there is one.
  int take_tile(bool last) { return last ? --above - 1 : begin++; }

  std::uint64_t word() const { return std::uint64_t{number} << 32 | std::uint64_t{above} << 16 | begin; }
  // The word of an operation that is not open.
  static std::uint64_t word_of(std::uint64_t number, std::uint16_t state) {
    return Progress{static_cast<std::uint32_t>(number), 0, state}.word();
  }
  static Progress opened(std::uint64_t number, int tiles) {
    return {static_cast<std::uint32_t>(number), static_cast<std::uint16_t>(tiles + 1), 0};
  }
  static Progress of(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint16_t>(word >> 16),
            static_cast<std::uint16_t>(word)};
  }
};

// Invariants:
// 1. Everything but the atomics is written by the front end, under its lock, while it is staged, before it is tied to
//    others or becomes ready (release), and read by threads that claimed it or began a tile (acquire), until it is
//    finished. The views' data alone are written by the thread that claimed it, before it opens the entry (release).
// 2. An entry is used again only after f has passed it and it has retired.
//
// An entry goes from one core to the other in as few lines as possible: first what threads share, then what is read by
// a thread that computes, then what is mostly the front end's alone.
struct alignas(64) Operation {
  static constexpr int inline_operands = 4, inline_edges = 4;
  // Added while the front end ties the operation to others: more than any number of predecessors, so that none of them
  // can be the last.
  static constexpr std::int32_t linking = 1 << 30;

  std::atomic<std::uint64_t> word{0};       // Progress; see above
  std::atomic<std::int32_t> pending{0};     // acquire-release: the last one sees what all others published
  std::atomic<std::int32_t> tiles_left{0};  // likewise
  std::atomic<Edge*> successors{nullptr};   // closed by one exchange when the operation completes
  std::atomic<std::uint64_t> retired{0};    // the number, once no thread uses the entry any more
  // The first operand's storage, which threads that have not claimed the entry prefetch. Relaxed: it is a hint, and the
  // storage may be gone.
  std::atomic<const Storage*> result{nullptr};
  std::uint64_t number = 0;
  // The operation's executor. Relaxed: a thread that has read `word` as ready or open reads the executor of that
  // operation, or of a later one. In the latter case its exchange of the word fails, because a finished operation does
  // not leave the word ready.
  std::atomic<Executor*> executor{nullptr};

  std::atomic<Failure*> failure{nullptr};  // of a tile; the first to fail
  Invocation invocation;
  int tiles = 1;         // of the word; where the kernel has more, each runs every tiles-th of them
  int kernel_tiles = 1;  // as the kernel counts
  Weight weight = Weight::large;
  std::uint8_t queue = 0;              // of an asynchronous device: on which of its queues
  std::atomic<Help> help{Help::none};  // relaxed: read as `executor` is
  Place place;                         // of the device whose memory it takes
  alignas(16) std::array<std::byte, max_attribute_bytes> attribute_space;
  std::array<Operand, inline_operands> operand_space;
  std::array<View, inline_operands> view_space;

  // The place in the order of the device that a copy comes from; other operations have no such device.
  Place source;
  // For each edge in edge_space: how many operations before this one the one lies that it waits for.
  std::array<std::uint32_t, inline_edges> distances;
  alignas(64) std::array<Edge, inline_edges> edge_space;
  std::array<ReaderLink, inline_operands> reader_space;
  Origin origin;
  int edge_count = 0;  // of those that `pending` counts
  FurtherEdge* more_edges = nullptr;
  // All operands, their views and their links, where these are more than the entry has space for.
  std::unique_ptr<Operand[]> more_operands;
  std::unique_ptr<View[]> more_views;
  std::unique_ptr<ReaderLink[]> more_readers;
  // On an asynchronous device:
  std::atomic<Edge*> successors_on_issue{
      nullptr};                          // the operations that wait until this is issued; closed as `successors`
  std::uint64_t ticket = 0;              // its sequence number on its queue
  std::shared_ptr<LaunchRegion> region;  // the call of a launch graph that it belongs to, until it is issued
  // Those of the places; unlike these they stay until the entry is used again, and only the front end reads them.
  std::array<const DeviceState*, 2> devices{};
  std::shared_ptr<const void> owned;  // by a custom operation, source or collective until its end; see Submission

  bool has_more_operands() const { return invocation.operand_count > inline_operands; }
  ReaderLink& reader(int operand) {
    const auto place = static_cast<std::size_t>(operand);
    return has_more_operands() ? more_readers[place] : reader_space[place];
  }
  // Makes room for `count` operands in the invocation. The last operation's operands were released. Throws
  // std::bad_alloc.
  void make_room(std::size_t count);
};

inline void Operation::make_room(std::size_t count) {
  if (count > inline_operands) {
    more_operands = std::make_unique<Operand[]>(count);
    more_views = std::make_unique<View[]>(count);
    more_readers = std::make_unique<ReaderLink[]>(count);
  }
  const bool fits = count <= inline_operands;
  invocation.operands = fits ? operand_space.data() : more_operands.get();
  invocation.views = fits ? view_space.data() : more_views.get();
  invocation.operand_count = static_cast<int>(count);
}

// Eight cache lines: the part that a thread reads to compute an operation with at most three operands, as most have.
// The front end writes three more.
inline constexpr std::size_t read_bytes = offsetof(Operation, view_space) + 3 * sizeof(View);
inline constexpr std::size_t edges_begin = offsetof(Operation, edge_space);
inline constexpr std::size_t edges_end = offsetof(Operation, more_operands);
static_assert(read_bytes <= 512 && edges_end - edges_begin <= 192);

// Prefetches the entry for a thread that computes. The thread that claims it writes the first line, too, and the data
// of the views.
inline void prefetch_for_reading(const Operation& operation) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&operation);
  __builtin_prefetch(bytes, 1);
  for (std::size_t line = 64; line < read_bytes; line += 64) __builtin_prefetch(bytes + line);
  __builtin_prefetch(&operation.edge_space);
}
inline void prefetch_for_writing(const Operation& operation) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&operation);
  for (std::size_t line = 0; line < read_bytes; line += 64) __builtin_prefetch(bytes + line, 1);
  for (std::size_t line = edges_begin; line < edges_end; line += 64) __builtin_prefetch(bytes + line, 1);
}

// Prefetches the storage that operation `number` writes, if `operation` is its entry already and no thread has begun
// it: usually a front end has just made it. It fetches the whole storage, because the thread that computes may also end
// it.
inline void prefetch_result(const Operation& operation, std::uint64_t number) {
  const Progress progress = Progress::of(operation.word.load(std::memory_order_relaxed));
  const bool is_begun = progress.is_open() || progress.is(Progress::claimed);
  const auto* const bytes = reinterpret_cast<const std::byte*>(operation.result.load(std::memory_order_relaxed));
  if (!progress.is_of(number) || is_begun || bytes == nullptr) return;
  for (std::size_t line = 0; line < sizeof(Storage); line += 64) __builtin_prefetch(bytes + line, 1);
}

}  // namespace asyncgrad::detail
