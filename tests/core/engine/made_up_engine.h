// The engine's parts below the front end, with entries that a test makes by hand.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "asyncgrad/core/engine/schedule/cpu_executor.h"
#include "asyncgrad/core/engine/schedule/executors.h"

namespace asyncgrad::tests {

inline const detail::Kernel nothing{.run = [](const detail::KernelCall&, int) {}};

// A part of the CPU, the program's only device, with one executor, whose thread is the test's.
class MadeUpEngine : private detail::StagingArea {
 public:
  static constexpr std::size_t slots = 64;

  explicit MadeUpEngine(bool by_arrival = false, MemoryBudget budget = MemoryBudget::unbounded()) {
    ring.make(slots, 1);
    device.set_order(&ring.order(), slots, 1);
    device.set_up(slots, budget, 0);
    executor = dynamic_cast<detail::CpuExecutor*>(
        &executors.add(std::make_unique<detail::CpuExecutor>(context, device, by_arrival)));
    executor->workers().configure(1, false, "worker");
    device.executor = device.copies = executor;
  }
  MadeUpEngine(const MadeUpEngine&) = delete;
  MadeUpEngine& operator=(const MadeUpEngine&) = delete;
  ~MadeUpEngine() override {
    for (detail::Storage* storage : storages_) {
      // Operations that have not run still count as uses.
      for (std::int64_t ended = detail::Storage::handle_share - storage->remaining; ended < storage->uses; ++ended) {
        detail::drop_use(*storage);
      }
      detail::drop_handle(*storage);
    }
    executors.clear();
  }

  detail::Storage* make_storage(std::int64_t size_bytes) {
    device.serial_live.add(size_bytes);
    return storages_.emplace_back(
        new detail::Storage{.size_bytes = size_bytes, .value_bytes = size_bytes, .device = &device});
  }
  // The next operation in the order of the program, which writes a storage by `kernel`. It is blocked, and in no list.
  detail::Operation& add(const detail::Kernel& kernel, detail::Storage& result) {
    const std::uint64_t number = device.order->take_number();
    detail::Operation& operation = ring.at(number);
    operation.make_room(1);
    detail::Invocation& invocation = operation.invocation;
    invocation.kernel = &kernel;
    invocation.attributes = operation.attribute_space.data();
    invocation.op = detail::Op::fill;
    invocation.origin = &operation.origin;
    invocation.operands[0].storage = &result;
    invocation.views[0].shape = {result.size_bytes / 4};
    invocation.views[0].access = detail::Access::write;
    detail::add_use(result);
    operation.number = number;
    operation.place = {&device, number};
    operation.weight = detail::Weight::tiny;
    operation.executor = executor;
    operation.result = &result;
    operation.word = detail::Progress::word_of(number, detail::Progress::blocked);
    operation.successors = nullptr;
    device.note_level();
    device.queue_level(number);
    return operation;
  }
  // Makes `successor` wait for `predecessor`.
  static void link(detail::Operation& predecessor, detail::Operation& successor) {
    detail::Edge& edge = successor.edge_space[static_cast<std::size_t>(successor.edge_count++)];
    edge = {&successor, predecessor.successors.load()};
    predecessor.successors = &edge;
    successor.pending = successor.edge_count;
  }

  detail::Ring ring;
  detail::Failures failures;
  detail::Waiters waiters{ring};
  detail::RunState run_state;
  detail::Executors executors;
  const detail::ExecutorContext context{ring, failures, waiters, run_state, executors, *this};
  detail::DeviceState& device = make_device(failures);
  detail::CpuExecutor* executor = nullptr;

 private:
  // A device's state, which is never destroyed, because threads keep their parts of its counts.
  static detail::DeviceState& make_device(detail::Failures& failures) {
    static auto& made = *new std::vector<detail::DeviceState*>;
    return *made.emplace_back(
        new detail::DeviceState({DeviceType::cpu, 0}, *detail::make_backend(DeviceType::cpu), failures));
  }
  bool try_to_offer_staged(const detail::Executor&) override { return false; }

  std::vector<detail::Storage*> storages_;
};

}  // namespace asyncgrad::tests
