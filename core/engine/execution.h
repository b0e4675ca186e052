// What happens to the values of an operation around its kernel. Internal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "asyncgrad/core/engine/failure.h"
#include "asyncgrad/core/engine/operation.h"

namespace asyncgrad::detail {

// The first cause, in program order, why the operation cannot run: an input is poisoned, or something that it writes
// and does not overwrite whole. Null: it can.
Failure* first_cause(const Invocation& invocation);

// Bytes that the operation takes when it starts: those of results that have no memory yet.
std::int64_t bytes_to_take(const Invocation& invocation);

// Takes them, for operation `number`. Throws std::bad_alloc with nothing taken.
void take_memory(const Invocation& invocation, std::uint64_t number);

// The calling thread's scratch of at least `size_bytes`, kept for the next time. Throws std::bad_alloc.
std::byte* scratch(DeviceState& device, std::int64_t size_bytes);

// Runs a tile of the kernel.
void run_tile(const Invocation& invocation, int tile);

// The message of a failure: what, the operands' shapes, where it was queued.
std::string failure_message(const Invocation& invocation, std::string_view what);
// The same of the exception that is being handled.
std::string current_failure_message(const Invocation& invocation);

// After the operation: poisons what it should have written, or, where there is no failure, cures what it overwrote.
// `started`: the kernel may have written some of it.
void settle(const Invocation& invocation, Failure* failure, bool started, Failures& failures);

// Lets go of the operands' uses.
void release_operands(const Invocation& invocation);

}  // namespace asyncgrad::detail
