#include "asyncgrad/backends/cuda/pinned_memory.h"

#include <sys/mman.h>

#include <iterator>
#include <map>

#include "asyncgrad/core/sync/fork_locks.h"
#include "asyncgrad/core/sync/mutex.h"

namespace asyncgrad::detail::cuda {

namespace {

// What was ever reserved: where each page begins, and whether it is pinned.
struct Pages {
  Pages() { ForkLocks::add(mutex, ForkLocks::Kind::innermost); }
  bool is_pinned(const std::byte* page) {
    const MutexLock lock(mutex);
    return all.at(page);
  }
  void set_pinned(const std::byte* page, bool is_pinned) {
    const MutexLock lock(mutex);
    all.at(page) = is_pinned;
  }
  Mutex mutex;
  std::map<const std::byte*, bool> all ASYNCGRAD_GUARDED_BY(mutex);
};

// Never destroyed, as memory is never given back.
Pages& pages() {
  static Pages* const made = new Pages;
  return *made;
}
const bool has_pages = made_at_load(pages);

}  // namespace

std::byte* PinnedMemory::reserve(std::int64_t size_bytes) {
  const std::int64_t mapped_bytes = size_bytes + pinned_at_once;  // the region begins at a page
  void* const mapped =
      mmap(nullptr, static_cast<std::size_t>(mapped_bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const first = static_cast<std::byte*>(mapped);
  std::byte* const begin = first + (bytes_together(first) % pinned_at_once);
  Pages& known = pages();
  const MutexLock lock(known.mutex);
  for (std::byte* page = begin; page < begin + size_bytes; page += pinned_at_once) known.all.emplace(page, false);
  return begin;
}

bool PinnedMemory::back(std::byte* begin, std::int64_t size_bytes) {
  std::byte* end = begin;  // of what is pinned
  bool is_pinned = true;
  try {
    while (end < begin + size_bytes && is_pinned) {
      if (!pages().is_pinned(end)) {
        is_pinned = gpu_.pin(end, pinned_at_once);
        pages().set_pinned(end, is_pinned);
      }
      if (is_pinned) end += pinned_at_once;
    }
  } catch (...) {
    unback(begin, end - begin);
    throw;
  }
  if (!is_pinned) unback(begin, end - begin);
  return is_pinned;
}

// A GPU that has failed may still read there. A page that cannot be unpinned counts as given back, too, and keeps its
// memory: the next back() finds it pinned.
bool PinnedMemory::unback(std::byte* begin, std::int64_t size_bytes) {
  if (gpu_.has_failed()) return false;
  for (std::byte* page = begin; page < begin + size_bytes; page += pinned_at_once) {
    if (!pages().is_pinned(page) || !gpu_.unpin(page)) continue;
    pages().set_pinned(page, false);
    madvise(page, static_cast<std::size_t>(pinned_at_once), MADV_DONTNEED);  // otherwise it keeps its memory
  }
  return true;
}

bool PinnedMemory::has(const std::byte* address) {
  Pages& known = pages();
  const MutexLock lock(known.mutex);
  const auto after = known.all.upper_bound(address);
  return after != known.all.begin() && address < std::prev(after)->first + pinned_at_once;
}

std::int64_t PinnedMemory::bytes_together(const std::byte* address) {
  return pinned_at_once - static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address) % pinned_at_once);
}

}  // namespace asyncgrad::detail::cuda
