// Values in pieces, and the operations that move them. Internal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "asyncgrad/core/location.h"
#include "asyncgrad/core/tensor.h"
#include "asyncgrad/dist/communicator.h"

namespace asyncgrad::dist {

inline constexpr std::int64_t max_piece_bytes = std::int64_t{4} << 20;

// A part of a tensor's bytes.
struct Segment {
  std::size_t tensor = 0;  // in the list that was cut
  std::int64_t begin_bytes = 0, size_bytes = 0;
};
// What one operation moves: elements of one type.
struct Piece {
  DType dtype{};
  std::int64_t size_bytes = 0;
  std::vector<Segment> segments{};
};
// Cuts the tensors into pieces of at most `max_bytes`, in their order. Those of less than a quarter of that go together,
// in a piece that comes as soon as the next one does not fit, or last; larger ones have pieces of their own, which move
// without a copy. Empty tensors are in none.
std::vector<Piece> cut(std::span<const Tensor> tensors, std::int64_t max_bytes);

// What the tensors' values become on all ranks.
struct Move {
  enum Kind : std::uint8_t {
    broadcast,  // those of rank 0
    gather,     // of one tensor: rank r's r-th part, as many parts of equal size as there are ranks
    sum         // over all ranks, divided by `divisor`
  };
  Kind kind;
  int divisor = 1;
};

// Whether all ranks take part in a group of collectives. It closes if the first of them fails, which it does on all ranks
// or on none. Then no rank takes part in the others, and they fail with the same cause: a rank that is absent from the
// first one has queued none of them.
//
// Thread safety: is_closed() by any thread; the others by the collectives of the group, which run one after another.
class Gate {
 public:
  void close(const char* why) noexcept;
  bool is_closed() const { return is_closed_.load(std::memory_order_acquire); }
  const std::string& why() const { return why_; }  // once it is closed

 private:
  std::string why_;
  std::atomic<bool> is_closed_{false};
};

// A call of the program that queues collectives.
struct Caller {
  const char* name = "";                 // a literal
  std::string details{};                 // what else than shapes and types the ranks must agree in: "step 3, seed 5"
  std::shared_ptr<Gate> gate = nullptr;  // of its collectives; null: they have none
};

// For each tensor the terms that are added to it before, the last one first; empty: none for any.
using Terms = std::vector<std::vector<Tensor>>;

// Queues the operations that move the tensors' values in place, one for each piece, the last of which also depends on
// all others: if one fails, all of the tensors' values are lost. No two tensors share their storage. Returns the first
// failure under Schedule::immediate, after all operations: every rank is then in the same place, whatever its schedule.
std::exception_ptr queue_move(Move move, const Caller& caller, const std::vector<Tensor>& tensors,
                              const std::shared_ptr<Communicator>& communicator, const Location& where,
                              const Terms& terms = {});

// Throws the failure, if there is one.
inline void throw_if(const std::exception_ptr& failure) {
  if (failure != nullptr) std::rethrow_exception(failure);
}

// Queues the question which of as many things some rank has. `has`: 1 for each that this one has, else 0. `result` becomes
// a new tensor, 1 for each that a rank has. The first collective of the caller's gate. Returns as queue_move() does.
std::exception_ptr queue_union(const Caller& caller, std::vector<std::uint8_t> has, Tensor& result,
                               const std::shared_ptr<Communicator>& communicator, const Location& where);

// Queues what a rank does in place of a first collective that it does not come to: all others fail with `why`. The
// operation itself does not fail.
void queue_absence(const Caller& caller, std::string why, const std::shared_ptr<Communicator>& communicator,
                   const Location& where);

}  // namespace asyncgrad::dist
