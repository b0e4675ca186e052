#include "asyncgrad/dist/queue_collectives.h"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/core/engine.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/fnv1a.h"
#include "asyncgrad/core/origin/origin.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::dist {

namespace {

using namespace detail;

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
  Fnv1a hash;
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
    const std::shared_ptr<Part> part =
        make_piece_move(call, move, std::move(pieces[i]), gathered_bytes, first, operand_of_terms, std::move(counts));
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
  return submit_part(make_union(call, std::move(has)), caller.name, operands, where);
}

void queue_absence(const Caller& caller, std::string why, const std::shared_ptr<Communicator>& communicator,
                   const Location& where) {
  const std::shared_ptr<const Call> call = call_of(caller, {}, 0, communicator, where);
  prepare_for_collectives(communicator->token().device(), Communicator::ranks_in_process);
  const OperandRef operands[] = {writes(communicator->token())};
  throw_if(submit_part(make_absence(call, std::move(why)), caller.name, operands, where));
}

}  // namespace asyncgrad::dist
