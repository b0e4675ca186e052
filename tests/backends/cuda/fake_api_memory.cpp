// Pinned memory and that of made-up GPUs.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "tests/backends/cuda/fake_api.h"

namespace asyncgrad::tests {

namespace {

constexpr std::size_t page_bytes = 1 << 16;

}  // namespace

std::size_t FakeApi::pinned_blocks() const {
  const std::lock_guard lock(mutex_);
  return pinned_.size();
}

void FakeApi::limit_registered(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  registered_limit_ = bytes;
}

std::size_t FakeApi::registered_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& [begin, size] : registered_) bytes += size;
  return bytes;
}

std::int64_t FakeApi::used_bytes(int gpu) const {
  const std::lock_guard lock(mutex_);
  return used_bytes_[static_cast<std::size_t>(gpu)];
}

void FakeApi::end_memory() {
  const std::lock_guard lock(mutex_);
  for (const auto& [begin, size] : regions_) munmap(begin, size);
  regions_.clear();
  mapped_.clear();
  pinned_.clear();
}

bool FakeApi::is_reachable(const void* begin, std::size_t size) const {
  const auto* const address = static_cast<const std::byte*>(begin);
  auto pinned = pinned_.upper_bound(address);
  if (pinned != pinned_.begin() && address + size <= (--pinned)->first + pinned->second.size) return true;
  auto registered = registered_.upper_bound(address);
  if (registered != registered_.begin() && address + size <= (--registered)->first + registered->second) return true;
  const auto first = reinterpret_cast<CUdeviceptr>(begin) / page_bytes * page_bytes;
  for (CUdeviceptr page = first; page < reinterpret_cast<CUdeviceptr>(begin) + size; page += page_bytes) {
    if (!mapped_.contains(page)) return false;
  }
  return true;
}

cudaError_t FakeApi::allocate_host(void** memory, std::size_t size) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t status = status_of("allocate_host"); status != cudaSuccess) return status;
  auto block = std::make_unique_for_overwrite<std::byte[]>(size);
  std::byte* const begin = block.get();
  *memory = begin;
  note_made(begin);
  pinned_[begin] = {std::move(block), size};
  return cudaSuccess;
}

cudaError_t FakeApi::free_host(void* memory) {
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(pinned_.erase(static_cast<std::byte*>(memory)), 1U);
  note_ended(memory);
  return status_of("free_host");
}

cudaError_t FakeApi::register_host(void* memory, std::size_t size) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t status = status_of("register_host"); status != cudaSuccess) return status;
  EXPECT_GE(device_of_this_thread(), 0);
  if (registered_bytes() + size > registered_limit_) return cudaErrorMemoryAllocation;
  EXPECT_TRUE(registered_.emplace(static_cast<std::byte*>(memory), size).second);
  return cudaSuccess;
}

cudaError_t FakeApi::unregister_host(void* memory) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t status = status_of("unregister_host"); status != cudaSuccess) return status;
  EXPECT_GE(device_of_this_thread(), 0);
  EXPECT_EQ(registered_.erase(static_cast<std::byte*>(memory)), 1U);
  return cudaSuccess;
}

cudaError_t FakeApi::get_memory_info(std::size_t* free, std::size_t* total) {
  const std::lock_guard lock(mutex_);
  *total = static_cast<std::size_t>(options_.memory_bytes);
  *free = *total - static_cast<std::size_t>(used_bytes_.at(static_cast<std::size_t>(device_of_this_thread())));
  return status_of("get_memory_info");
}

cudaError_t FakeApi::get_granularity(std::size_t* size, int) {
  const std::lock_guard lock(mutex_);
  *size = page_bytes;
  return status_of("get_granularity");
}

cudaError_t FakeApi::reserve_addresses(CUdeviceptr* begin, std::size_t size) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t status = status_of("reserve_addresses"); status != cudaSuccess) return status;
  EXPECT_EQ(size % page_bytes, 0U);
  // The addresses begin at a page of the GPU, which is larger than the machine's.
  void* const region = mmap(nullptr, size + page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED) return cudaErrorMemoryAllocation;
  regions_[region] = size + page_bytes;
  *begin = (reinterpret_cast<CUdeviceptr>(region) + page_bytes - 1) / page_bytes * page_bytes;
  return cudaSuccess;
}

cudaError_t FakeApi::create_memory(CUmemGenericAllocationHandle* memory, std::size_t size, int device) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t status = status_of("create_memory"); status != cudaSuccess) return status;
  std::int64_t& used = used_bytes_.at(static_cast<std::size_t>(device));
  EXPECT_EQ(size % page_bytes, 0U);
  if (used + static_cast<std::int64_t>(size) > options_.memory_bytes) return cudaErrorMemoryAllocation;
  *memory = ++last_block_;
  blocks_[*memory] = std::make_shared<Block>(static_cast<std::int64_t>(size), used);
  return cudaSuccess;
}

cudaError_t FakeApi::release_memory(CUmemGenericAllocationHandle memory) {
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(blocks_.erase(memory), 1U);
  return status_of("release_memory");
}

cudaError_t FakeApi::map(CUdeviceptr begin, std::size_t size, CUmemGenericAllocationHandle memory) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t status = status_of("map"); status != cudaSuccess) return status;
  EXPECT_EQ(blocks_.at(memory)->size, static_cast<std::int64_t>(size));
  EXPECT_EQ(size, page_bytes);  // is_reachable() looks at pages
  EXPECT_TRUE(mapped_.emplace(begin, blocks_.at(memory)).second);
  return cudaSuccess;
}

cudaError_t FakeApi::unmap(CUdeviceptr begin, std::size_t size) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t status = status_of("unmap"); status != cudaSuccess) return status;
  for (CUdeviceptr page = begin; page < begin + size; page += page_bytes) EXPECT_EQ(mapped_.erase(page), 1U);
  madvise(reinterpret_cast<void*>(begin), size, MADV_DONTNEED);
  return mprotect(reinterpret_cast<void*>(begin), size, PROT_NONE) == 0 ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t FakeApi::set_access(CUdeviceptr begin, std::size_t size, std::span<const int> devices) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t status = status_of("set_access"); status != cudaSuccess) return status;
  EXPECT_TRUE(is_reachable(reinterpret_cast<void*>(begin), size));
  EXPECT_EQ(devices.size(), options_.reach_each_other ? static_cast<std::size_t>(options_.gpus) : 1U);
  if (mprotect(reinterpret_cast<void*>(begin), size, PROT_READ | PROT_WRITE) != 0) return cudaErrorInvalidValue;
  if (options_.fills_memory) std::memset(reinterpret_cast<void*>(begin), 0xff, size);
  return cudaSuccess;
}

}  // namespace asyncgrad::tests
