// The scratch memory of a queue's kernels. Internal.
#pragma once

#include <cstddef>
#include <cstdint>

#include "asyncgrad/core/engine/admission/device_state.h"

namespace asyncgrad::detail {

// One block, kept for the next kernel. For the device's launch thread.
class QueueScratch {
 public:
  std::byte* block() const { return block_; }
  std::int64_t size_bytes() const { return size_bytes_; }

  // Takes a block of `size_bytes`, a multiple of 64, while there is none. Throws std::bad_alloc.
  void take(DeviceState& device, std::int64_t size_bytes) {
    block_ = device.allocator.take_workspace(size_bytes);
    size_bytes_ = size_bytes;
    device.workspace.fetch_add(size_bytes, std::memory_order_relaxed);
  }
  // Called when the queue has run what used the block, or when the memory is used next by something that runs after
  // that.
  void give_back(DeviceState& device) {
    device.allocator.give_back_workspace(block_, size_bytes_);
    device.workspace.fetch_sub(size_bytes_, std::memory_order_relaxed);
    block_ = nullptr;
    size_bytes_ = 0;
  }

 private:
  std::byte* block_ = nullptr;
  std::int64_t size_bytes_ = 0;
};

}  // namespace asyncgrad::detail
