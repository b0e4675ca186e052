#include "asyncgrad/core/storage/page_ranges.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>

namespace asyncgrad::detail {

namespace {

constexpr std::int64_t whole_pages(std::int64_t bytes) {
  return (bytes + PageRanges::page_bytes - 1) / PageRanges::page_bytes * PageRanges::page_bytes;
}

}  // namespace

std::byte* PageRanges::take_kept(std::int64_t size_bytes) { return take_from(kept_, whole_pages(size_bytes)); }

std::byte* PageRanges::take_clean(std::int64_t size_bytes) {
  const std::int64_t size = whole_pages(size_bytes);
  if (std::byte* block = take_from(clean_, size); block != nullptr) return block;
  const std::int64_t mapped = std::max(region_bytes, size);
  void* region =
      mmap(nullptr, static_cast<std::size_t>(mapped), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (region == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(region);
  regions_.insert(begin);
  insert(begin, {mapped, false});
  return take_from(clean_, size);
}

void PageRanges::give_back(std::byte* block, std::int64_t size_bytes) {
  insert(block, {whole_pages(size_bytes), true});
}

int PageRanges::trim(std::int64_t most_bytes) {
  int calls = 0;
  while (kept_bytes_ > most_bytes) {
    // The largest range first: fewest calls; of it no more than needed, from its end.
    const auto range = free_.find(std::prev(kept_.end())->second);
    std::byte* begin = range->first;
    const std::int64_t size = range->second.size_bytes;
    const std::int64_t given = std::min(size, whole_pages(kept_bytes_ - most_bytes));
    erase(range);
    madvise(begin + (size - given), static_cast<std::size_t>(given), MADV_DONTNEED);
    ++calls;
    if (size > given) insert(begin, {size - given, true});
    insert(begin + (size - given), {given, false});
  }
  return calls;
}

std::byte* PageRanges::take_from(BySize& ranges, std::int64_t size_bytes) {
  const auto fit = ranges.lower_bound({size_bytes, nullptr});
  if (fit == ranges.end()) return nullptr;
  const auto range = free_.find(fit->second);
  std::byte* begin = range->first;
  const Range found = range->second;
  erase(range);
  if (found.size_bytes > size_bytes) insert(begin + size_bytes, {found.size_bytes - size_bytes, found.kept});
  return begin;
}

void PageRanges::insert(std::byte* begin, Range range) {
  const auto next = free_.find(begin + range.size_bytes);
  if (next != free_.end() && next->second.kept == range.kept && !regions_.contains(next->first)) {
    range.size_bytes += next->second.size_bytes;
    erase(next);
  }
  if (const auto after = free_.lower_bound(begin); after != free_.begin() && !regions_.contains(begin)) {
    const auto before = std::prev(after);
    if (before->first + before->second.size_bytes == begin && before->second.kept == range.kept) {
      begin = before->first;
      range.size_bytes += before->second.size_bytes;
      erase(before);
    }
  }
  free_.emplace(begin, range);
  of_kind(range.kept).emplace(range.size_bytes, begin);
  if (range.kept) kept_bytes_ += range.size_bytes;
}

void PageRanges::erase(std::map<std::byte*, Range>::iterator range) {
  of_kind(range->second.kept).erase({range->second.size_bytes, range->first});
  if (range->second.kept) kept_bytes_ -= range->second.size_bytes;
  free_.erase(range);
}

}  // namespace asyncgrad::detail
