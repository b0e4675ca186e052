// Makes the entry of an operation from a submission. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/core/engine/front_end/route.h"
#include "asyncgrad/core/engine/ring/operation.h"
#include "asyncgrad/core/engine/schedule/executors.h"
#include "asyncgrad/core/engine/submit.h"

namespace asyncgrad::detail {

// All functions: under the front end's lock.

// Counts the bytes that would be live on the device now into its next operation's serial level.
inline void note_level(DeviceState& device, Executors& executors) {
  if (device.note_level()) executors.retry_refused();
}

// Fills the entry of operation `number`, which is blocked at first. There is room for its operands.
void fill_entry(Operation& operation, std::uint64_t number, const Route& route, const Submission& submission);

// Gives the operation numbers in the orders of the devices that it touches, and notes what would be live on them now.
void take_places(Operation& operation, const Submission& submission, Executors& executors);

}  // namespace asyncgrad::detail
