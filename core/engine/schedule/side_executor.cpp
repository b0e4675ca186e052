#include "asyncgrad/core/engine/schedule/side_executor.h"

#include <array>

#include "asyncgrad/core/engine/schedule/executors.h"
#include "asyncgrad/core/engine/threads/status.h"

namespace asyncgrad::detail {

namespace {

// The bytes of its operands on each of the two devices that an operation may touch.
class Pinned {
 public:
  explicit Pinned(const Operation& operation) {
    for (const Operand& operand : operation.invocation.all_operands())
      add(state_of(*operand.storage), *operand.storage);
  }
  void raise() const {
    for (const Part& part : parts_) {
      if (part.device != nullptr) part.device->raise_under_way(part.bytes);
    }
  }
  void lower() const {
    for (const Part& part : parts_) {
      if (part.device != nullptr) part.device->lower_under_way(part.bytes);
    }
  }

 private:
  struct Part {
    DeviceState* device = nullptr;
    std::int64_t bytes = 0;
  };

  void add(DeviceState& device, const Storage& storage) {
    Part& part = parts_[0].device == nullptr || parts_[0].device == &device ? parts_[0] : parts_[1];
    part.device = &device;
    part.bytes += storage.size_bytes;
  }

  std::array<Part, 2> parts_;
};

}  // namespace

// Called by the thread that has claimed the operation, before others may join.
void SideExecutor::begin(Operation& operation) {
  Pinned(operation).raise();  // before f passes it
  for (Place* place : {&operation.place, &operation.source}) {
    if (place->device == nullptr) continue;
    place->device->finish(place->number);
    place->device = nullptr;  // done with here; the order of the program has it until it ends
  }
  context_.executors.retry_refused();
  context_.waiters.wake(0, 0);  // a thread that hands data over waits for f of a device
}

void SideExecutor::end(Operation& operation, Failure* failure, Turn& turn) {
  const Pinned pinned(operation);
  CpuExecutor::end(operation, failure, turn);
  pinned.lower();  // after its memory was returned
}

// f steps over it meanwhile, as over one that runs: it may take as long. The message of a failure never changes.
void CollectiveExecutor::miss(Operation& operation, Failure& failure, Turn& turn) {
  begin(operation);
  ThreadStatus::set(ThreadStatus::Doing::computing, operation.number);
  operation.invocation.call().attributes<CollectiveAttributes>().part->miss(failure.message);
  end(operation, &failure, turn);
}

}  // namespace asyncgrad::detail
