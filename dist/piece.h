// Values in pieces, and the operations that move them. Internal.
#pragma once

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
// Cuts the tensors into pieces of at most `max_bytes`, in their order. Empty tensors are in none.
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

// Queues the operations that move the tensors' values in place, one for each piece, the last of which also depends on
// all others: if one fails, all of the tensors' values are lost. No two tensors share their storage. `name`, a literal,
// is that of the call. Returns the first failure under Schedule::immediate, after all operations: every rank is then in
// the same place, whatever its schedule.
std::exception_ptr queue_move(Move move, const char* name, const std::vector<Tensor>& tensors,
                              const std::shared_ptr<Communicator>& communicator, const Location& where);

// Throws the failure, if there is one.
inline void throw_if(const std::exception_ptr& failure) {
  if (failure != nullptr) std::rethrow_exception(failure);
}

// Queues the question which of as many things some rank has. `has`: 1 for each that this one has, else 0. `result` becomes
// a new tensor, 1 for each that a rank has. Returns as queue_move() does.
std::exception_ptr queue_union(const char* name, std::vector<std::uint8_t> has, Tensor& result,
                               const std::shared_ptr<Communicator>& communicator, const Location& where);

}  // namespace asyncgrad::dist
