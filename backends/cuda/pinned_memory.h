// Memory of the host that GPUs copy from and to directly. Internal.
#pragma once

#include "asyncgrad/backends/cuda/gpu.h"
#include "asyncgrad/core/memory/memory_source.h"

namespace asyncgrad::detail::cuda {

// Ordinary memory of the process, whose pages are pinned while they are backed. So the child of a fork has its values, and
// as the system copies pinned pages for the child at once (Linux 5.10 and later), the parent's stay where GPUs find them.
// Older systems may move a page when the parent writes it, which autograd/pin_memory.h tells the program.
//
// One page is pinned by one call, because it is also unpinned by one; a copy is one for each page that it touches.
class PinnedMemory final : public MemorySource {
 public:
  explicit PinnedMemory(Gpu& gpu) : gpu_(gpu) {}

  std::int64_t page_bytes() const override { return pinned_at_once; }
  std::byte* reserve(std::int64_t size_bytes) override;
  bool back(std::byte* begin, std::int64_t size_bytes) override;
  bool unback(std::byte* begin, std::int64_t size_bytes) override;

  // Whether such memory, of any GPU, is at the address. Any thread may call it.
  static bool has(const std::byte* address);
  // How many bytes from the address on are pinned together.
  static std::int64_t bytes_together(const std::byte* address);

 private:
  static constexpr std::int64_t pinned_at_once = std::int64_t{2} << 20;

  Gpu& gpu_;
};

}  // namespace asyncgrad::detail::cuda
