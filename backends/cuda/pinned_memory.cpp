#include "asyncgrad/backends/cuda/pinned_memory.h"

#include <sys/mman.h>

#include <map>

#include "asyncgrad/core/sync/fork_locks.h"
#include "asyncgrad/core/sync/mutex.h"

namespace asyncgrad::detail::cuda {

namespace {

// What was ever reserved: where it begins and ends.
struct Regions {
  Regions() { ForkLocks::add(mutex, ForkLocks::Kind::innermost); }
  Mutex mutex;
  std::map<const std::byte*, const std::byte*> all ASYNCGRAD_GUARDED_BY(mutex);
};

// Never destroyed, as memory is never given back.
Regions& regions() {
  static Regions* const made = new Regions;
  return *made;
}
const bool has_regions = made_at_load(regions);

}  // namespace

std::byte* PinnedMemory::reserve(std::int64_t size_bytes) {
  const std::int64_t mapped_bytes = size_bytes + pinned_at_once;  // the region begins at a page
  void* const mapped =
      mmap(nullptr, static_cast<std::size_t>(mapped_bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const first = static_cast<std::byte*>(mapped);
  std::byte* const begin = first + (bytes_together(first) % pinned_at_once);
  Regions& known = regions();
  const MutexLock lock(known.mutex);
  known.all.emplace(begin, begin + size_bytes);
  return begin;
}

bool PinnedMemory::back(std::byte* begin, std::int64_t size_bytes) {
  std::byte* end = begin;  // of what is pinned
  bool is_pinned = true;
  try {
    while (end < begin + size_bytes && is_pinned) {
      is_pinned = gpu_.pin(end, pinned_at_once);
      if (is_pinned) end += pinned_at_once;
    }
  } catch (...) {
    unback(begin, end - begin);
    throw;
  }
  if (!is_pinned) unback(begin, end - begin);
  return is_pinned;
}

// A GPU that has failed may still read there.
bool PinnedMemory::unback(std::byte* begin, std::int64_t size_bytes) {
  if (gpu_.has_failed()) return false;
  for (std::byte* page = begin; page < begin + size_bytes; page += pinned_at_once) {
    if (!gpu_.unpin(page)) return false;
  }
  return madvise(begin, static_cast<std::size_t>(size_bytes), MADV_DONTNEED) == 0;
}

bool PinnedMemory::has(const std::byte* address) {
  Regions& known = regions();
  const MutexLock lock(known.mutex);
  const auto after = known.all.upper_bound(address);
  return after != known.all.begin() && address < std::prev(after)->second;
}

std::int64_t PinnedMemory::bytes_together(const std::byte* address) {
  return pinned_at_once - static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address) % pinned_at_once);
}

}  // namespace asyncgrad::detail::cuda
