#include "asyncgrad/core/engine/run/operation_profile.h"

#include <new>
#include <utility>

#include "asyncgrad/core/backend/flops.h"
#include "asyncgrad/core/engine/admission/device_state.h"
#include "asyncgrad/core/profile/records.h"

namespace asyncgrad::detail {

namespace {

// Completes the record with what the invocation says, and appends it; without memory for that it is dropped.
void record(const Invocation& invocation, profile::OperationRecord record) noexcept {
  try {
    record.name = op_name(invocation.op, invocation.attributes);
    record.op = invocation.op;
    record.flops = flops_of(invocation.op, invocation.call());
    record.operands.reserve(invocation.all_views().size());
    for (const View& view : invocation.all_views()) record.operands.push_back({view.shape, view.dtype, view.access});
  } catch (const std::bad_alloc&) {
    return;
  }
  profile::record_operation(std::move(record));
}

}  // namespace

void record_queued(const Operation& operation) noexcept {
  record(operation.invocation, {.number = operation.number,
                                .queued_ns = profile::now_ns(),
                                .budget_bytes = operation.place.device->admission().limit(),
                                .tiles = operation.tiles,
                                .origin = operation.origin});
}

void record_at_call(const Invocation& invocation, const Location& where, std::int64_t begin_ns) noexcept {
  record(invocation, {.queued_ns = begin_ns, .ended_ns = profile::now_ns(), .origin = origin_at(where)});
}

}  // namespace asyncgrad::detail
