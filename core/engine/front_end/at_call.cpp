#include "asyncgrad/core/engine/front_end/at_call.h"

#include <new>

#include "asyncgrad/core/engine/front_end/new_entry.h"
#include "asyncgrad/core/engine/run/execution.h"
#include "asyncgrad/core/engine/run/nan_check.h"
#include "asyncgrad/core/engine/run/operation_profile.h"
#include "asyncgrad/core/engine/schedule/executors.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::detail {

AtCall::Outcome AtCall::run(const Route& route, const Submission& submission, std::uint64_t next) {
  const Kernel& kernel = route.kernel;
  if (!route.executor.may_compute_at_call() || submission.operands.size() > max_operands) return Outcome::not_here;
  Needs needs;
  if (!look(submission, needs)) return Outcome::unfinished;
  if (needs.lacking != nullptr && needs.lacking->is_pinned) return Outcome::not_here;  // CUDA may take long to pin
  Invocation invocation{.kernel = &kernel,
                        .operands = operands_.data(),
                        .views = views_.data(),
                        .attributes = submission.attributes,
                        .operand_count = static_cast<int>(submission.operands.size()),
                        .op = submission.op};
  const KernelCall call = invocation.call();
  if ((kernel.cost == nullptr ? needs.elements : kernel.cost(call)) > tiny_cost) return Outcome::not_here;
  if (kernel.tiles != nullptr && kernel.tiles(call) != 1) return Outcome::not_here;
  DeviceState& device = state_of(*operands_[0].storage);
  note_level(device, context_.executors);
  if (needs.has_poison) {
    if (Failure* cause = first_cause(invocation, context_.failures)) {
      settle_all(invocation, cause, false);
      context_.failures.let_go(*cause);
      return Outcome::computed;
    }
  }
  const std::uint64_t place = device.order->next();
  if (!device.admission().admit(place, needs.bytes, device.order->oldest())) return Outcome::not_here;
  try {
    if (const RunState::Hook hook = context_.run_state.hook()) {
      const InOperation here;
      hook(next);
    }
    if (needs.bytes > 0) {
      if (needs.bytes == needs.lacking->size_bytes && needs.bytes < Holders::min_bytes) {
        take_memory_of(*needs.lacking, place);  // the usual case: one result
      } else {
        take_memory(invocation, place);
      }
    }
  } catch (const std::bad_alloc&) {
    device.admission().give_back(place, needs.bytes);
    return Outcome::not_here;  // a queued operation can wait until others return some
  } catch (...) {
    fail(invocation, next, false, submission.where);
    return Outcome::computed;
  }
  compute(invocation, needs, next, submission.where);
  return Outcome::computed;
}

// Goes through the operands only once, because these checks cost more than the operation itself.
inline bool AtCall::look(const Submission& submission, Needs& needs) {
  Operand* operand = operands_.data();
  View* view = views_.data();
  for (const OperandRef& ref : submission.operands) {
    if (!dependencies_.is_finished(ref)) return false;
    set_operand(*operand, *view, ref);
    Storage& storage = *ref.impl->storage;
    needs.elements += ref.impl->shape.numel();
    if (lacks_memory(*operand, ref.access)) {
      needs.lacking = &storage;
      needs.bytes += storage.size_bytes;
    }
    needs.has_poison |= storage.is_poisoned();
    ++operand;
    ++view;
  }
  return true;
}

inline void AtCall::compute(Invocation& invocation, const Needs& needs, std::uint64_t next, const Location& where) {
  const Backend& backend = *state_of(*invocation.operands[0].storage).backend;
  const std::uint64_t previous = detail::enter_thread(backend);
  bool started = false;
  try {
    prepare(invocation);
    started = true;
    const CallSpan span(invocation, where);
    KernelCall call = invocation.call();
    run_tile(invocation, call, 0);
    if (NanChecks::are_on) check_nan(invocation);
  } catch (...) {
    detail::leave_thread(backend, previous);
    return fail(invocation, next, started, where);
  }
  detail::leave_thread(backend, previous);
  if (needs.has_poison) return settle_all(invocation, nullptr, true);
  for (int i = 0; i < invocation.operand_count; ++i) {
    if (invocation.views[i].access == Access::read) break;  // outputs come first
    Storage& storage = *invocation.operands[i].storage;
    note_write(storage);
    storage.has_value = true;
  }
  ++count_;
}

// Adds the exception that is being handled as the operation's failure.
void AtCall::fail(Invocation& invocation, std::uint64_t next, bool started, const Location& where) {
  const Origin origin = origin_at(where);
  invocation.origin = &origin;
  Failure* const failure = add_current_failure(invocation, next, context_.failures);
  settle_all(invocation, failure, started);
  context_.failures.let_go(*failure);
}

void AtCall::settle_all(const Invocation& invocation, Failure* failure, bool started) {
  for (int i = 0; i < invocation.operand_count; ++i) {
    if (invocation.views[i].access != Access::read) note_write(*invocation.operands[i].storage);
  }
  settle(invocation, failure, started, context_.failures);
  ++count_;
}

}  // namespace asyncgrad::detail
