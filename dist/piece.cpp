#include "asyncgrad/dist/piece.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/core/backend/kernels.h"
#include "asyncgrad/core/engine.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/memory/abandoned.h"
#include "asyncgrad/core/origin/origin.h"
#include "asyncgrad/core/tensor_impl.h"
#include "asyncgrad/dist/tree_sum.h"

namespace asyncgrad::dist {

namespace {

using namespace detail;

// The FNV-1a hash of a sequence of numbers: http://www.isthe.com/chongo/tech/comp/fnv/
class Hash {
 public:
  void add(std::uint64_t number) {
    for (int i = 0; i < 8; ++i) value_ = (value_ ^ (number >> (8 * i) & 0xff)) * 0x100000001b3;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

// What the operations of one call have in common.
struct Call {
  std::shared_ptr<Communicator> communicator;
  std::string text;  // for ranks whose programs differ
  std::uint64_t hash = 0;
  std::shared_ptr<Gate> gate{};  // null: none
};

std::int64_t element_bytes(DType dtype) { return static_cast<std::int64_t>(size_bytes(dtype)); }

// What all kinds have in common. It counts as unfinished until it has taken part, or is dropped.
class Part : public Collective {
 public:
  explicit Part(std::shared_ptr<const Call> of_call) : call_(std::move(of_call)) { call_->communicator->note_queued(); }
  ~Part() override { note_over(); }

  void miss(std::string_view why) noexcept final {
    try {
      take_part({.failure = why.empty() ? "it failed" : why});
    } catch (...) {  // the operation has failed already
      return;
    }
  }

  // Whether it has taken part, with success or not. In its program's order.
  bool is_over() const { return is_over_; }

 protected:
  Communicator& communicator() const { return *call_->communicator; }
  void set_hash(const Hash& hash) { hash_ = hash.value(); }
  void set_first() { is_first_ = true; }  // of the gate's collectives

  void take_part(Task task) {
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

 private:
  void note_over() {
    if (!std::exchange(is_over_, true)) communicator().note_over();
  }

  const std::shared_ptr<const Call> call_;
  bool is_over_ = false, is_first_ = false;
  std::uint64_t hash_ = 0;
};

// Those that move something. All memory that they need is taken when they are made, or before they take part.
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
  // After a move that has not come to its end, as a rank gave no answer: what the transport may still write to, or read,
  // is never freed. On the thread of prepare().
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

// Moves a piece. Its operands are the token, then each tensor of which the piece has a segment, then perhaps others, then
// the terms of each segment's tensor.
class PieceMove final : public Moving {
 public:
  // `first`: of its first segment; the operation has a use of it. `operand_of_terms`: the first term. `terms`: how many
  // each segment has.
  PieceMove(std::shared_ptr<const Call> of_call, Move how, Piece moved, Slices owned, Storage& first,
            std::size_t operand_of_terms, std::vector<int> terms)
      : Moving(of_call),
        how_(how),
        piece_(std::move(moved)),
        slices_(std::move(owned)),
        first_(first),
        operand_of_terms_(operand_of_terms),
        terms_(std::move(terms)) {
    if (!terms_.empty()) added_.reserve(static_cast<std::size_t>(std::ranges::max(terms_)));
    if (how.kind == Move::sum) rows_.resize(static_cast<std::size_t>(communicator().size()));
    Hash hash;
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

// Its operands are the token and the result.
class Union final : public Moving {
  using Bytes = std::vector<std::uint8_t>;

 public:
  Union(std::shared_ptr<const Call> of_call, std::vector<std::uint8_t> has)
      : Moving(of_call),
        has_(std::move(has)),
        all_(std::make_unique<Bytes>(has_.size() * static_cast<std::size_t>(communicator().size()))) {
    Hash hash;
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

// Its operand is the token.
class Absence final : public Part {
 public:
  Absence(std::shared_ptr<const Call> of_call, std::string why) : Part(std::move(of_call)), why_(std::move(why)) {
    set_first();
  }
  void run(const KernelCall&) override { miss(why_); }

 private:
  const std::string why_;
};

// Returns what the operation has thrown under Schedule::immediate. It has taken part then, so that the ranks are still
// at the same place; what it throws otherwise is this rank's alone.
std::exception_ptr submit_part(const std::shared_ptr<Part>& part, const char* name,
                               std::span<const OperandRef> operands, const Location& where) {
  const CollectiveAttributes attributes{.part = part.get(), .name = name};
  const std::shared_ptr<const void> owned = part;
  try {
    submit(Submission{Op::collective, operands, &attributes, sizeof(attributes), where, &owned});
  } catch (const std::exception&) {
    if (engine_options().schedule != Schedule::immediate || !part->is_over()) throw;
    return std::current_exception();
  }
  return nullptr;
}

std::shared_ptr<const Call> call_of(const Caller& caller, const std::vector<Tensor>& tensors, std::uint64_t kind,
                                    const std::shared_ptr<Communicator>& communicator, const Location& where) {
  Hash hash;
  hash.add(kind);
  for (const char letter : caller.details) hash.add(static_cast<unsigned char>(letter));
  std::string shapes;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    hash.add(static_cast<std::uint64_t>(tensors[i].dtype()));
    for (const std::int64_t extent : tensors[i].shape()) hash.add(static_cast<std::uint64_t>(extent));
    hash.add(UINT64_MAX);
    if (i < 4)
      shapes +=
          fmt::format("{}{} {}", i == 0 ? "" : ", ", asyncgrad::name(tensors[i].dtype()), tensors[i].shape().str());
  }
  if (tensors.size() > 4) shapes += fmt::format(" and {} more", tensors.size() - 4);
  return std::make_shared<const Call>(
      Call{.communicator = communicator,
           .text = fmt::format("{} of {}, queued at {}{}{}", caller.name, shapes.empty() ? "nothing" : shapes,
                               origin_at(where).str(), caller.details.empty() ? "" : ", ", caller.details),
           .hash = hash.value(),
           .gate = caller.gate});
}

}  // namespace

std::vector<Piece> cut(std::span<const Tensor> tensors, std::int64_t max_bytes) {
  std::vector<Piece> pieces;
  Piece together;
  const auto end_piece = [&] {
    if (together.size_bytes > 0) pieces.push_back(std::exchange(together, {}));
  };
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const DType dtype = tensors[i].dtype();
    const std::int64_t size = tensors[i].shape().numel() * element_bytes(dtype);
    if (size < max_bytes / 4) {
      if (dtype != together.dtype || together.size_bytes + size > max_bytes) end_piece();
      together.dtype = dtype;
      if (size > 0) together.segments.push_back({.tensor = i, .size_bytes = size});
      together.size_bytes += size;
      continue;
    }
    for (std::int64_t begin = 0, bytes = 0; begin < size; begin += bytes) {
      bytes = std::min(size - begin, max_bytes);
      pieces.push_back({.dtype = dtype,
                        .size_bytes = bytes,
                        .segments = {{.tensor = i, .begin_bytes = begin, .size_bytes = bytes}}});
    }
  }
  end_piece();
  return pieces;
}

void Gate::close(const char* why) noexcept {
  if (is_closed()) return;
  try {
    why_ = why;
  } catch (const std::exception&) {  // there is no memory for it
    why_.clear();
  }
  is_closed_.store(true, std::memory_order_release);
}

std::exception_ptr queue_move(Move move, const Caller& caller, const std::vector<Tensor>& tensors,
                              const std::shared_ptr<Communicator>& communicator, const Location& where,
                              const Terms& terms) {
  const std::shared_ptr<const Call> call =
      call_of(caller, tensors, (static_cast<std::uint64_t>(move.divisor) << 8) + move.kind + 1, communicator, where);
  prepare_for_collectives(communicator->token().device(), Communicator::ranks_in_process);
  const std::int64_t gathered_bytes =
      move.kind == Move::gather ? tensors[0].numel() * element_bytes(tensors[0].dtype()) : 0;
  std::vector<Piece> pieces = cut(tensors, max_piece_bytes);
  std::exception_ptr failure;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    std::vector<OperandRef> operands{writes(communicator->token())};
    std::vector<bool> is_in(tensors.size());
    for (const Segment& segment : pieces[i].segments) {
      operands.push_back(updates(tensors[segment.tensor]));
      is_in[segment.tensor] = true;
    }
    for (std::size_t other = 0; i + 1 == pieces.size() && other < tensors.size(); ++other) {
      if (!is_in[other] && tensors[other].numel() > 0) operands.push_back(updates(tensors[other]));
    }
    const std::size_t operand_of_terms = operands.size();
    std::vector<int> counts;  // of terms
    for (const Segment& segment : pieces[i].segments) {
      if (terms.empty()) break;
      counts.push_back(static_cast<int>(terms[segment.tensor].size()));
      for (const Tensor& term : terms[segment.tensor]) operands.push_back(reads(term));
    }
    Storage& first = *tensors[pieces[i].segments.front().tensor].impl()->storage;
    Slices slices = slices_of(move.kind, pieces[i], gathered_bytes, communicator->size());
    const auto part = std::make_shared<PieceMove>(call, move, std::move(pieces[i]), std::move(slices), first,
                                                  operand_of_terms, std::move(counts));
    const std::exception_ptr thrown = submit_part(part, caller.name, operands, where);
    if (failure == nullptr) failure = thrown;
  }
  return failure;
}

std::exception_ptr queue_union(const Caller& caller, std::vector<std::uint8_t> has, Tensor& result,
                               const std::shared_ptr<Communicator>& communicator, const Location& where) {
  const Device device = communicator->token().device();
  result = make_tensor({static_cast<std::int64_t>(has.size())}, uint8, device);
  const std::shared_ptr<const Call> call = call_of(caller, {result}, 0, communicator, where);
  prepare_for_collectives(device, Communicator::ranks_in_process);
  const OperandRef operands[] = {writes(communicator->token()), writes(result)};
  return submit_part(std::make_shared<Union>(call, std::move(has)), caller.name, operands, where);
}

void queue_absence(const Caller& caller, std::string why, const std::shared_ptr<Communicator>& communicator,
                   const Location& where) {
  const std::shared_ptr<const Call> call = call_of(caller, {}, 0, communicator, where);
  prepare_for_collectives(communicator->token().device(), Communicator::ranks_in_process);
  const OperandRef operands[] = {writes(communicator->token())};
  throw_if(submit_part(std::make_shared<Absence>(call, std::move(why)), caller.name, operands, where));
}

}  // namespace asyncgrad::dist
