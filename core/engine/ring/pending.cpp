#include "asyncgrad/core/engine/ring/pending.h"

#include <algorithm>
#include <unordered_map>

namespace asyncgrad::detail {

namespace {

PendingOperation pending_of(const Operation& operation, bool is_finished) {
  const Invocation& invocation = operation.invocation;
  PendingOperation copy{.number = operation.number,
                        .is_finished = is_finished,
                        .op = invocation.op,
                        .attributes = operation.attribute_space,
                        .origin = operation.origin,
                        .progress = Progress::of(operation.word.load(std::memory_order_relaxed)),  // a figure
                        .tiles = operation.tiles};
  for (int i = 0; i < invocation.operand_count; ++i) {
    const View& view = invocation.views[i];
    copy.operands.push_back({invocation.operands[i].storage, view.shape, view.dtype, view.access});
  }
  return copy;
}

}  // namespace

std::vector<std::uint64_t> unfinished_on(const DeviceState& device, const Ring& ring, std::uint64_t next) {
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t number = ring.oldest().load(std::memory_order_seq_cst); number < next; ++number) {
    const Operation& operation = ring.at(number);
    const bool is_there = std::ranges::find(operation.devices, &device) != operation.devices.end();
    if (is_there && !ring.is_finished(number)) numbers.push_back(number);
  }
  return numbers;
}

std::vector<PendingOperation> pending_in(const Ring& ring, std::uint64_t next, std::size_t max_count) {
  std::vector<PendingOperation> copies;
  for (std::uint64_t number = ring.oldest().load(std::memory_order_seq_cst); number < next && copies.size() < max_count;
       ++number) {
    copies.push_back(pending_of(ring.at(number), ring.is_finished(number)));
  }
  return copies;
}

// Finds them as the front end did: by going through the operations in their order.
std::vector<std::vector<std::uint64_t>> predecessors_of(const std::vector<PendingOperation>& operations) {
  struct Users {
    std::uint64_t writer = 0;  // the last one; 0: none
    std::vector<std::uint64_t> readers{};
  };
  std::unordered_map<const Storage*, Users> users;
  std::vector<std::vector<std::uint64_t>> all;
  for (const PendingOperation& operation : operations) {
    std::vector<std::uint64_t>& found = all.emplace_back();
    const auto add = [&found, &operation](std::uint64_t number) {
      if (number != 0 && number != operation.number && std::ranges::find(found, number) == found.end())
        found.push_back(number);
    };
    for (const PendingOperand& operand : operation.operands) {
      Users& of_storage = users[operand.storage];
      add(of_storage.writer);
      if (operand.access != Access::read) std::ranges::for_each(of_storage.readers, add);
    }
    if (operation.is_finished) continue;
    for (const PendingOperand& operand : operation.operands) {
      Users& of_storage = users[operand.storage];
      if (operand.access == Access::read) {
        of_storage.readers.push_back(operation.number);
      } else {
        of_storage = {.writer = operation.number};
      }
    }
  }
  return all;
}

}  // namespace asyncgrad::detail
