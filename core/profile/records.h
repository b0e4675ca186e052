// The profiler's records: plain data, which summaries and traces read. Internal.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "asyncgrad/core/backend/kernels.h"
#include "asyncgrad/core/origin/origin.h"
#include "asyncgrad/core/profile/profile.h"

namespace asyncgrad::detail::profile {

struct OperandRecord {
  Shape shape;
  DType dtype;
  Access access;
};
// An operation that was queued, or (number 0) computed at the call.
struct OperationRecord {
  std::uint64_t number = 0;
  std::int64_t queued_ns = 0;
  std::int64_t ended_ns = 0;  // of one computed at the call
  std::int64_t budget_bytes = 0;
  int tiles = 1;
  double flops = 0;
  const char* name = "";
  Op op{};
  Origin origin{};
  std::vector<OperandRecord> operands{};

  // "matmul", or "matmul, again" of a value that was dropped.
  std::string shown_name() const { return name + std::string(origin.is_again ? ", again" : ""); }
  std::int64_t operand_bytes() const {
    std::int64_t bytes = 0;
    for (const OperandRecord& operand : operands) bytes += value_bytes(operand.shape, operand.dtype);
    return bytes;
  }
};
struct Dependency {
  std::uint64_t number, on;
};
struct Moment {
  std::uint64_t number;
  std::int64_t time_ns;
  Event event;
};
struct TileRecord {
  std::uint64_t number;
  int tile;
  std::int64_t begin_ns, end_ns;
};
// The times at which an asynchronous device reached the beginning and the end of an operation on its queue number
// `queue`.
struct DeviceRecord {
  std::uint64_t number;
  Device device;
  int queue;
  std::int64_t begin_ns, end_ns;
};
struct WaitRecord {
  std::int64_t begin_ns, end_ns;
};
struct LiveRecord {
  const void* allocator;
  std::int64_t time_ns, live_bytes;
};

// The records of one thread, in its order. They are deques, which grow without moving their elements.
struct ThreadRecords {
  std::string name{};         // of a stream's thread; else empty
  bool is_front_end = false;  // it called stop()
  std::deque<OperationRecord> operations{};
  std::deque<Dependency> dependencies{};
  std::deque<Moment> moments{};
  std::deque<TileRecord> tiles{};
  std::deque<DeviceRecord> on_device{};
  std::deque<WaitRecord> waits{};
  std::deque<LiveRecord> live{};

  bool is_empty() const {
    return operations.empty() && moments.empty() && tiles.empty() && waits.empty() && live.empty();
  }
};

// Starts to record.
void start();
// Stops recording, waits until no thread is within a hook, and returns the records of the calling thread and of all
// threads that have any, in the order of their first record.
std::vector<ThreadRecords> stop();

}  // namespace asyncgrad::detail::profile
