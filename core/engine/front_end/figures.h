// The figures of the queue. Internal.
//
// Thread safety: any thread may call these functions. They hold the queue's lock while they look. All but try_pending()
// throw Error inside an operation, because its thread may hold the lock.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "asyncgrad/core/engine/front_end/program_queue.h"
#include "asyncgrad/core/engine/ring/pending.h"

namespace asyncgrad::detail {

EngineFigures figures_of(ProgramQueue& queue) ASYNCGRAD_EXCLUDES(queue.lock());
// Starts the peaks of the queue and of a device again, from what is queued and live now.
void reset_peaks(ProgramQueue& queue, DeviceState& device) ASYNCGRAD_EXCLUDES(queue.lock());
DryRunReport dry_run_report(ProgramQueue& queue, const DeviceState& device) ASYNCGRAD_EXCLUDES(queue.lock());
// The unfinished operations in program order. Some may be finished when the function returns.
std::vector<PendingOperation> pending(ProgramQueue& queue) ASYNCGRAD_EXCLUDES(queue.lock());
// See unfinished_on() of ring/pending.h.
std::vector<std::uint64_t> unfinished_on(const DeviceState& device, ProgramQueue& queue)
    ASYNCGRAD_EXCLUDES(queue.lock());
// The first of them, for reports that have to answer even if threads hang. Returns nothing if the lock stays taken for
// some milliseconds.
std::optional<std::vector<PendingOperation>> try_pending(ProgramQueue& queue, std::size_t max_count)
    ASYNCGRAD_EXCLUDES(queue.lock());

}  // namespace asyncgrad::detail
