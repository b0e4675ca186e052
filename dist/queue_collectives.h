// Queues the operations of collectives. Internal.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "asyncgrad/core/location.h"
#include "asyncgrad/core/tensor.h"
#include "asyncgrad/dist/collective_operations.h"

namespace asyncgrad::dist {

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
