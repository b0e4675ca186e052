// Notes what the operations that a thread queues read. Internal.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/memory/storage.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad::detail {

// While it lives, it notes the values from before that operations of this thread read and that none of them writes.
class ReadWatch {
 public:
  [[nodiscard]] ReadWatch();
  ReadWatch(const ReadWatch&) = delete;
  ReadWatch& operator=(const ReadWatch&) = delete;
  ~ReadWatch();

  static bool is_in_use() { return innermost_ != nullptr; }
  // Notes an operation that this thread queues.
  static void note(std::span<const OperandRef> operands);
  // Notes a storage that gets its values without an operation.
  static void note_made(const Storage& storage);
  // One tensor without history for each storage, in the order in which they were read first.
  std::vector<Tensor> found() const;

 private:
  void see(const OperandRef& operand);

  std::vector<Tensor> read_;                             // keeps its storages, so that no other one gets their address
  std::unordered_map<const Storage*, bool> is_written_;  // of each storage that was seen
  ReadWatch* outer_;

  // NOLINTNEXTLINE(readability-identifier-naming): a member
  static inline constinit thread_local ReadWatch* innermost_ = nullptr;
};

}  // namespace asyncgrad::detail
