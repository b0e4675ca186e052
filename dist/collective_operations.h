// The operations by which a rank takes part in collectives. Internal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "asyncgrad/core/backend/attributes/collective.h"
#include "asyncgrad/core/fnv1a.h"
#include "asyncgrad/core/tensor_impl.h"
#include "asyncgrad/dist/communicator.h"
#include "asyncgrad/dist/piece.h"

namespace asyncgrad::dist {

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

// What the operations of one call have in common.
struct Call {
  std::shared_ptr<Communicator> communicator;
  std::string text;  // for ranks whose programs differ
  std::uint64_t hash = 0;
  std::shared_ptr<Gate> gate{};  // null: none
};

// The base of all operations. An operation counts as unfinished until it has taken part in its collective, or is dropped.
class Part : public detail::Collective {
 public:
  explicit Part(std::shared_ptr<const Call> of_call) : call_(std::move(of_call)) { call_->communicator->note_queued(); }
  ~Part() override { note_over(); }

  void miss(std::string_view why) noexcept final;

  // Whether it has taken part, with success or not. In its program's order.
  bool is_over() const { return is_over_; }

 protected:
  Communicator& communicator() const { return *call_->communicator; }
  void set_hash(const detail::Fnv1a& hash) { hash_ = hash.value(); }
  void set_first() { is_first_ = true; }  // of the gate's collectives

  // Throws what ends the collective, and the cause of a gate that is closed.
  void take_part(Task task);

 private:
  void note_over() {
    if (!std::exchange(is_over_, true)) communicator().note_over();
  }

  const std::shared_ptr<const Call> call_;
  bool is_over_ = false, is_first_ = false;
  std::uint64_t hash_ = 0;
};

// The operation that moves a piece. Its operands are the token, then each tensor of which the piece has a segment, then
// perhaps others, then the terms of each segment's tensor. `gathered_bytes`: of the tensor that is gathered. `first`: of
// the first segment; the operation has a use of it. `operand_of_terms`: the first term. `terms`: how many each segment
// has; empty: none has any.
std::shared_ptr<Part> make_piece_move(std::shared_ptr<const Call> call, Move how, Piece piece,
                                      std::int64_t gathered_bytes, detail::Storage& first, std::size_t operand_of_terms,
                                      std::vector<int> terms);

// The operation that queue_union() queues. Its operands are the token and the result.
std::shared_ptr<Part> make_union(std::shared_ptr<const Call> call, std::vector<std::uint8_t> has);

// The operation that queue_absence() queues. Its operand is the token.
std::shared_ptr<Part> make_absence(std::shared_ptr<const Call> call, std::string why);

}  // namespace asyncgrad::dist
