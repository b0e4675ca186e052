#include "asyncgrad/core/engine/front_end/new_entry.h"

#include <algorithm>
#include <cstring>

#include "asyncgrad/core/backend/device_queue.h"
#include "asyncgrad/core/engine/run/execution.h"
#include "asyncgrad/core/engine/run/nan_check.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::detail {

void fill_entry(Operation& operation, std::uint64_t number, const Route& route, const Submission& submission) {
  Invocation& invocation = operation.invocation;
  invocation.op = submission.op;
  invocation.checks_nan = NanChecks::are_on && submission.op != Op::collective;  // all ranks succeed, or none
  invocation.kernel = &route.kernel;
  std::memcpy(operation.attribute_space.data(), submission.attributes, submission.attribute_bytes);
  invocation.attributes = operation.attribute_space.data();
  for (std::size_t i = 0; i < submission.operands.size(); ++i) {
    set_operand(invocation.operands[i], invocation.views[i], submission.operands[i]);
  }
  const KernelCall call = invocation.call();
  operation.kernel_tiles = route.kernel.tiles == nullptr ? 1 : std::max(1, route.kernel.tiles(call));
  operation.tiles = std::min(operation.kernel_tiles, Progress::max_tiles);
  const std::int64_t cost = operation.tiles == 1 ? cost_of(route.kernel, call) : INT64_MAX;
  operation.weight = cost <= tiny_cost ? Weight::tiny : Weight::large;
  const Help help = runs_function(submission.op) ? Help::none
                    : operation.tiles > 1        ? Help::tiles
                    : cost <= brief_cost         ? Help::whole
                                                 : Help::none;
  operation.help.store(help, std::memory_order_relaxed);  // see there
  operation.number = number;
  operation.executor.store(&route.executor, std::memory_order_relaxed);
  set_origin(operation.origin, submission.where);
  invocation.origin = &operation.origin;
  // Relaxed, here and below: other threads reach the entry through lists of successors or the ready set, which publish
  // it by release.
  operation.word.store(Progress::word_of(number, Progress::blocked), std::memory_order_relaxed);
  operation.pending.store(Operation::linking, std::memory_order_relaxed);
  operation.successors.store(nullptr, std::memory_order_relaxed);
  operation.failure.store(nullptr, std::memory_order_relaxed);
  operation.result.store(submission.operands[0].impl->storage, std::memory_order_relaxed);
  if (submission.owned != nullptr) operation.owned = *submission.owned;
  if (!route.executor.is_asynchronous()) return;
  // Unused bytes are 0, because launch graphs compare attributes byte by byte.
  std::memset(operation.attribute_space.data() + submission.attribute_bytes, 0,
              max_attribute_bytes - submission.attribute_bytes);
  operation.successors_on_issue.store(nullptr, std::memory_order_relaxed);
  if (LaunchRegion* const region = LaunchRegion::current()) operation.region = region->shared_from_this();
}

void take_places(Operation& operation, const Submission& submission, Executors& executors) {
  const auto place_on = [&executors](DeviceState& device) {
    const Place place{&device, device.order->take_number()};
    note_level(device, executors);
    device.queue_level(place.number);
    return place;
  };
  const Storage& result = *submission.operands[0].impl->storage;
  DeviceState& device = state_of(result);
  operation.place = place_on(device);
  operation.source.device = nullptr;
  operation.devices = {&device, nullptr};
  operation.queue = compute_queue;
  if (submission.op != Op::copy) return;
  const Storage& copied = *submission.operands[1].impl->storage;
  DeviceState& from = state_of(copied);
  if (&from == &device) return;
  operation.queue = device.is_asynchronous ? copy_in_queue : copy_out_queue;  // of the one that route_of() chooses
  if (executor_of(operation).is_asynchronous()) {
    DeviceState& computing = device.is_asynchronous ? device : from;
    computing.copied_bytes.fetch_add((&computing == &device ? result : copied).size_bytes, std::memory_order_relaxed);
  }
  operation.source = place_on(from);
  operation.devices[1] = &from;
}

}  // namespace asyncgrad::detail
