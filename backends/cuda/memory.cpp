#include "asyncgrad/backends/cuda/memory.h"

#include <cstdlib>
#include <string_view>

namespace asyncgrad::detail::cuda {

namespace {

constexpr std::size_t driver_share = 64;  // one part in so many: 1.3 of 80 GB

bool is_asked_for_page_ends() {
  const char* const value =
      std::getenv("ASYNCGRAD_VALUES_AT_PAGE_ENDS");  // NOLINT(concurrency-mt-unsafe): nothing sets it
  return value != nullptr && std::string_view(value) == "1";
}

CUdeviceptr address(const std::byte* begin) { return reinterpret_cast<CUdeviceptr>(begin); }

}  // namespace

Memory::Memory(Gpu& gpu) : gpu_(gpu), ends_values_at_pages_(is_asked_for_page_ends()), users_{gpu.index()} {
  std::size_t page_bytes = 0;
  gpu.require(gpu.api().get_granularity(&page_bytes, gpu.index()));
  page_bytes_ = static_cast<std::int64_t>(page_bytes);
  for (int other = 0; other < gpu.count(); ++other) {
    if (other == gpu.index()) continue;
    bool can_access = false;
    gpu.require(gpu.api().can_access_peer(&can_access, other, gpu.index()));
    if (can_access) users_.push_back(other);
  }
}

std::byte* Memory::reserve(std::int64_t size_bytes) {
  gpu_.check(cudaSuccess);
  CUdeviceptr begin = 0;
  const cudaError_t status = gpu_.api().reserve_addresses(&begin, static_cast<std::size_t>(size_bytes));
  if (status == cudaErrorMemoryAllocation) return nullptr;
  gpu_.check_refusable(status);
  return reinterpret_cast<std::byte*>(begin);  // NOLINT(performance-no-int-to-ptr): CUDA's addresses are numbers
}

// Checked first, because a request that cannot be met would take every page that is left. The driver needs some memory
// later, when it loads kernels at their first launch.
bool Memory::has_free(std::int64_t size_bytes) {
  gpu_.set_current();
  std::size_t free = 0, total = 0;
  gpu_.check(gpu_.api().get_memory_info(&free, &total));
  return static_cast<std::size_t>(size_bytes) + total / driver_share <= free;
}

bool Memory::back(std::byte* begin, std::int64_t size_bytes) {
  gpu_.check(cudaSuccess);  // it has not kept what it was to give back
  if (!has_free(size_bytes)) return false;
  cudaError_t status = cudaSuccess;
  std::byte* end = begin;  // the end of the memory that is mapped
  while (end < begin + size_bytes && status == cudaSuccess) {
    status = back_page(end);
    if (status == cudaSuccess) end += page_bytes_;
  }
  if (status == cudaSuccess) {
    status = gpu_.api().set_access(address(begin), static_cast<std::size_t>(size_bytes), users_);
  }
  if (status == cudaSuccess) return true;
  if (end > begin) unback(begin, end - begin);
  if (status != cudaErrorMemoryAllocation) gpu_.check_refusable(status);
  return false;
}

// Only the mapping refers to the memory, so unmapping frees it.
cudaError_t Memory::back_page(std::byte* begin) {
  const auto size = static_cast<std::size_t>(page_bytes_);
  CUmemGenericAllocationHandle memory = 0;
  const cudaError_t created = gpu_.api().create_memory(&memory, size, gpu_.index());
  if (created != cudaSuccess) return created;
  const cudaError_t mapped = gpu_.api().map(address(begin), size, memory);
  gpu_.note(gpu_.api().release_memory(memory));
  return mapped;
}

bool Memory::unback(std::byte* begin, std::int64_t size_bytes) {
  if (gpu_.has_failed()) return true;
  gpu_.note(gpu_.api().unmap(address(begin), static_cast<std::size_t>(size_bytes)));
  return true;  // an error is noted, and ends the device
}

}  // namespace asyncgrad::detail::cuda
