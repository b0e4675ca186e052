// A GPU's memory. Internal.
#pragma once

#include <vector>

#include "asyncgrad/backends/cuda/gpu.h"
#include "asyncgrad/backends/cuda/pinned_memory.h"
#include "asyncgrad/core/memory/memory_source.h"

namespace asyncgrad::detail::cuda {

// Addresses are reserved once, and memory is mapped there page by page, so that memory taken in one piece can be given
// back in any pieces. Other GPUs that can access this one's memory get access. reserve() and back() may throw Error and
// DeviceFailed.
class Memory final : public MemorySource {
 public:
  // Throws Error if the GPU does not support this.
  explicit Memory(Gpu& gpu);

  std::int64_t page_bytes() const override { return page_bytes_; }
  std::byte* reserve(std::int64_t size_bytes) override;
  bool back(std::byte* begin, std::int64_t size_bytes) override;
  bool unback(std::byte* begin, std::int64_t size_bytes) override;
  // If the variable ASYNCGRAD_VALUES_AT_PAGE_ENDS of the environment is 1 when the GPU comes into use.
  bool ends_values_at_pages() const override { return ends_values_at_pages_; }
  MemorySource* pinned() override { return &pinned_; }

 private:
  bool has_free(std::int64_t size_bytes);
  cudaError_t back_page(std::byte* begin);

  Gpu& gpu_;
  const bool ends_values_at_pages_;
  std::int64_t page_bytes_ = 0;
  std::vector<int> users_;  // this GPU and those that reach it
  PinnedMemory pinned_{gpu_};
};

}  // namespace asyncgrad::detail::cuda
