#include "asyncgrad/dist/collective_operations.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <span>

#include "asyncgrad/core/backend/kernels.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/memory/abandoned.h"
#include "asyncgrad/dist/tree_sum.h"

namespace asyncgrad::dist {

namespace {

using namespace detail;

// An operation that moves values. It takes all its memory when it is made, or before it takes part.
class Moving : public Part {
 public:
  using Part::Part;

  void run(const KernelCall& kernel_call) final {
    bool is_moving = false;
    Task task;
    try {
      prepare(kernel_call);
      task = {.flag = flag_, .move = [&](Rounds& rounds, bool flagged) {
                is_moving = true;
                move(kernel_call, rounds, flagged);
                is_moving = false;
              }};
    } catch (const std::exception& error) {
      miss(error.what());
      throw;
    }
    try {
      take_part(std::move(task));
    } catch (...) {
      if (is_moving) abandon();
      throw;
    }
  }

 protected:
  void set_flag(bool flag) { flag_ = flag; }

 private:
  // Takes workspace.
  virtual void prepare(const KernelCall& /*kernel_call*/) {}
  // On the communicator's thread, once all ranks have agreed. Takes no memory.
  virtual void move(const KernelCall& kernel_call, Rounds& rounds, bool flagged) = 0;
  // Called after a move that did not end because a rank gave no answer, on the thread of prepare(). What the transport may
  // still read or write is never freed.
  virtual void abandon() noexcept = 0;

  bool flag_ = false;
};

// The slice of a piece that each rank owns. `gathered_bytes`: of the tensor that is gathered.
Slices slices_of(Move::Kind kind, const Piece& piece, std::int64_t gathered_bytes, int ranks) {
  const std::int64_t bytes = element_bytes(piece.dtype), elements = piece.size_bytes / bytes;
  Slices slices{0};
  for (int rank = 1; rank <= ranks; ++rank) {
    if (kind == Move::broadcast) {
      slices.push_back(piece.size_bytes);
    } else if (kind == Move::sum) {
      slices.push_back(elements * rank / ranks * bytes);
    } else {
      const std::int64_t end = gathered_bytes / ranks * rank - piece.segments[0].begin_bytes;
      slices.push_back(std::clamp(end, std::int64_t{0}, piece.size_bytes));
    }
  }
  return slices;
}

class PieceMove final : public Moving {
 public:
  PieceMove(std::shared_ptr<const Call> of_call, Move how, Piece moved, std::int64_t gathered_bytes, Storage& first,
            std::size_t operand_of_terms, std::vector<int> terms)
      : Moving(of_call),
        how_(how),
        piece_(std::move(moved)),
        slices_(slices_of(how.kind, piece_, gathered_bytes, communicator().size())),
        first_(first),
        operand_of_terms_(operand_of_terms),
        terms_(std::move(terms)) {
    if (!terms_.empty()) added_.reserve(static_cast<std::size_t>(std::ranges::max(terms_)));
    if (how.kind == Move::sum) rows_.resize(static_cast<std::size_t>(communicator().size()));
    Fnv1a hash;
    hash.add(of_call->hash);
    for (const Segment& segment : piece_.segments) {
      hash.add(segment.tensor);
      hash.add(static_cast<std::uint64_t>(segment.begin_bytes));
      hash.add(static_cast<std::uint64_t>(segment.size_bytes));
    }
    set_hash(hash);
  }

 private:
  void prepare(const KernelCall& kernel_call) override {
    const std::int64_t packed = is_whole() ? 0 : rounded_bytes(piece_.size_bytes);
    const std::int64_t received = how_.kind == Move::sum ? (communicator().size() - 1) * own_bytes() : 0;
    std::byte* const memory = workspace(kernel_call.device(0), packed + received);
    values_ = is_whole() ? place_of(kernel_call, 0) : memory;
    received_ = memory + packed;
    add_all_terms(kernel_call);
    if (how_.kind != Move::sum) return;
    for (std::size_t rank = 0, other = 0; rank < rows_.size(); ++rank) {
      const bool is_own = rank == static_cast<std::size_t>(communicator().rank());
      rows_[rank] = is_own ? values_ + own_begin() : received_ + static_cast<std::int64_t>(other++) * own_bytes();
    }
  }

  void move(const KernelCall& kernel_call, Rounds& rounds, bool) override {
    if (how_.kind != Move::broadcast || communicator().rank() == 0) pack(kernel_call);
    if (how_.kind == Move::sum) sum_own_slice(rounds);
    rounds.all_gather(values_, slices_);
    unpack(kernel_call);
  }

  void abandon() noexcept override {
    abandon_workspace();
    if (is_whole()) keep_for_good(first_);
  }

  bool is_whole() const { return piece_.segments.size() == 1; }  // then it is moved from where it is
  std::byte* place_of(const KernelCall& kernel_call, std::size_t segment) const {
    return kernel_call.bytes(static_cast<int>(1 + segment)) + piece_.segments[segment].begin_bytes;
  }
  void add_all_terms(const KernelCall& kernel_call) {
    for (std::size_t i = 0, operand = operand_of_terms_; i < terms_.size(); ++i) {
      const Segment& segment = piece_.segments[i];
      added_.clear();
      for (int term = 0; term < terms_[i]; ++term) {
        added_.push_back(kernel_call.bytes(static_cast<int>(operand++)) + segment.begin_bytes);
      }
      const std::int64_t elements = segment.size_bytes / element_bytes(piece_.dtype);
      if (!added_.empty()) add_terms(added_, place_of(kernel_call, i), elements, piece_.dtype);
    }
  }
  void pack(const KernelCall& kernel_call) const {
    if (is_whole()) return;
    std::byte* to = values_;
    for (std::size_t i = 0; i < piece_.segments.size(); to += piece_.segments[i++].size_bytes) {
      std::memcpy(to, place_of(kernel_call, i), static_cast<std::size_t>(piece_.segments[i].size_bytes));
    }
  }
  void unpack(const KernelCall& kernel_call) const {
    if (is_whole()) return;
    const std::byte* from = values_;
    for (std::size_t i = 0; i < piece_.segments.size(); from += piece_.segments[i++].size_bytes) {
      std::memcpy(place_of(kernel_call, i), from, static_cast<std::size_t>(piece_.segments[i].size_bytes));
    }
  }

  std::int64_t own_begin() const { return slices_[static_cast<std::size_t>(communicator().rank())]; }
  std::int64_t own_bytes() const { return dist::own_bytes(slices_, communicator().rank()); }
  void sum_own_slice(Rounds& rounds) const {
    rounds.all_to_all(values_, received_, slices_);
    tree_sum(rows_, values_ + own_begin(), own_bytes() / element_bytes(piece_.dtype), piece_.dtype, how_.divisor);
  }

  const Move how_;
  const Piece piece_;
  const Slices slices_;
  Storage& first_;
  const std::size_t operand_of_terms_;
  const std::vector<int> terms_;         // of each segment; empty: none
  std::vector<const std::byte*> added_;  // those of one segment
  std::byte* values_ = nullptr;          // of the piece, one behind the other
  std::byte* received_ = nullptr;        // this rank's slice of each other rank's values
  std::vector<std::byte*> rows_;         // this rank's slice of each rank's values, of a sum
};

class Union final : public Moving {
  using Bytes = std::vector<std::uint8_t>;

 public:
  Union(std::shared_ptr<const Call> of_call, std::vector<std::uint8_t> has)
      : Moving(of_call),
        has_(std::move(has)),
        all_(std::make_unique<Bytes>(has_.size() * static_cast<std::size_t>(communicator().size()))) {
    Fnv1a hash;
    hash.add(of_call->hash);
    set_hash(hash);
    set_first();
    set_flag(std::ranges::find(has_, 0) != has_.end());
  }

 private:
  void move(const KernelCall& kernel_call, Rounds& rounds, bool some_lack) override {
    auto* const result = kernel_call.data<std::uint8_t>(1);
    std::ranges::fill_n(result, static_cast<std::ptrdiff_t>(has_.size()),
                        some_lack ? std::uint8_t{0} : std::uint8_t{1});
    if (!some_lack) return;
    rounds.exchange(std::as_bytes(std::span(has_)), std::as_writable_bytes(std::span(*all_)));
    for (std::size_t i = 0; i < all_->size(); ++i) result[i % has_.size()] |= (*all_)[i];
  }
  void abandon() noexcept override { note_abandoned(all_.release()); }

  const Bytes has_;
  std::unique_ptr<Bytes> all_;  // of all ranks
};

class Absence final : public Part {
 public:
  Absence(std::shared_ptr<const Call> of_call, std::string why) : Part(std::move(of_call)), why_(std::move(why)) {
    set_first();
  }
  void run(const KernelCall&) override { miss(why_); }

 private:
  const std::string why_;
};

}  // namespace

void Gate::close(const char* why) noexcept {
  if (is_closed()) return;
  try {
    why_ = why;
  } catch (const std::exception&) {  // there is no memory for it
    why_.clear();
  }
  is_closed_.store(true, std::memory_order_release);
}

void Part::miss(std::string_view why) noexcept {
  try {
    take_part({.failure = why.empty() ? "it failed" : why});
  } catch (...) {  // the operation has failed already
    return;
  }
}

void Part::take_part(Task task) {
  task.hash = hash_;
  task.text = call_->text;
  Gate* const gate = call_->gate.get();
  try {
    if (gate != nullptr && gate->is_closed()) throw Error(gate->why());
    communicator().run(task);
  } catch (const std::exception& error) {
    if (gate != nullptr && is_first_) gate->close(error.what());
    note_over();
    throw;
  }
  note_over();
}

std::shared_ptr<Part> make_piece_move(std::shared_ptr<const Call> call, Move how, Piece piece,
                                      std::int64_t gathered_bytes, Storage& first, std::size_t operand_of_terms,
                                      std::vector<int> terms) {
  return std::make_shared<PieceMove>(std::move(call), how, std::move(piece), gathered_bytes, first, operand_of_terms,
                                     std::move(terms));
}

std::shared_ptr<Part> make_union(std::shared_ptr<const Call> call, std::vector<std::uint8_t> has) {
  return std::make_shared<Union>(std::move(call), std::move(has));
}

std::shared_ptr<Part> make_absence(std::shared_ptr<const Call> call, std::string why) {
  return std::make_shared<Absence>(std::move(call), std::move(why));
}

}  // namespace asyncgrad::dist
