#include "asyncgrad/core/memory/page_ranges.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>

namespace asyncgrad::detail {

namespace {

// The system puts memory behind a page when it is first touched.
class HostMemory final : public MemorySource {
 public:
  std::int64_t page_bytes() const override { return 4096; }
  std::byte* reserve(std::int64_t size_bytes) override {
    void* const region =
        mmap(nullptr, static_cast<std::size_t>(size_bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return region == MAP_FAILED ? nullptr : static_cast<std::byte*>(region);
  }
  bool back(std::byte*, std::int64_t) override { return true; }
  bool unback(std::byte* begin, std::int64_t size_bytes) override {
    return madvise(begin, static_cast<std::size_t>(size_bytes), MADV_DONTNEED) == 0;
  }
};

}  // namespace

MemorySource& host_memory() {
  static HostMemory* const memory = new HostMemory;  // never destroyed, because its blocks may outlive everything
  return *memory;
}

// Reserves nodes for the return of what is about to be taken, `ranges`, and of all blocks in use, for a new region and
// its range, and for a range that trim() cuts in two.
void PageRanges::reserve_nodes(std::size_t ranges) {
  nodes_.reserve(nodes_of_range * (blocks_ + ranges) + nodes_of_region + 2 * nodes_of_range);
}

std::byte* PageRanges::take_kept(std::int64_t size_bytes) {
  reserve_nodes();
  std::byte* const block = take_from(kept_, whole_pages(size_bytes));
  if (block != nullptr) ++blocks_;
  return block;
}

std::optional<PageRanges::Extension> PageRanges::claim_extension(std::int64_t size_bytes) {
  reserve_nodes(2);
  const std::int64_t size = whole_pages(size_bytes);
  for (auto kept = kept_.lower_bound({size, nullptr}); kept != kept_.begin();) {
    const auto [kept_bytes, begin] = *--kept;
    if (kept_bytes < size / 4) return std::nullopt;
    const std::int64_t missing = size - kept_bytes;
    // Kept neighbours would have joined the range.
    const auto after = range_from(begin + kept_bytes), before = range_until(begin);
    const bool grows_up = after != free_.end() && after->second.size_bytes >= missing;
    if (!grows_up && (before == free_.end() || before->second.size_bytes < missing)) continue;
    const auto clean = grows_up ? after : before;
    const Extension extension{begin, grows_up ? begin + kept_bytes : begin - missing, kept_bytes, missing};
    std::byte* const rest = grows_up ? extension.added + missing : clean->first;
    const std::int64_t rest_bytes = clean->second.size_bytes - missing;
    erase(clean);
    erase(free_.find(begin));
    if (rest_bytes > 0) insert(rest, {rest_bytes, false});
    blocks_ += 2;
    return extension;
  }
  return std::nullopt;
}

std::byte* PageRanges::complete(const Extension& extension) {
  try {
    if (source_.back(extension.added, extension.added_bytes)) {
      --blocks_;
      return std::min(extension.kept, extension.added);
    }
  } catch (...) {
    give_up(extension);
    throw;
  }
  give_up(extension);
  return nullptr;
}

void PageRanges::give_up(const Extension& extension) noexcept {
  blocks_ -= 2;
  insert(extension.kept, {extension.kept_bytes, true});
  insert(extension.added, {extension.added_bytes, false});
}

std::byte* PageRanges::take_clean(std::int64_t size_bytes) {
  reserve_nodes();
  const std::int64_t size = whole_pages(size_bytes);
  std::byte* block = take_from(clean_, size);
  if (block == nullptr) {
    const std::int64_t reserved = std::max(region_bytes, size);
    std::byte* const region = source_.reserve(reserved);
    if (region == nullptr) return nullptr;
    regions_.insert(region);
    insert(region, {reserved, false});
    block = take_from(clean_, size);
  }
  try {
    if (source_.back(block, size)) {
      ++blocks_;
      return block;
    }
  } catch (...) {
    insert(block, {size, false});
    throw;
  }
  insert(block, {size, false});
  return nullptr;
}

std::byte* PageRanges::take_at_page_end(std::int64_t size_bytes) {
  const std::int64_t size = whole_pages(size_bytes);
  std::byte* const region = source_.reserve(size + page_bytes_);
  return region != nullptr && source_.back(region, size) ? region + (size - size_bytes) : nullptr;
}

void PageRanges::give_back(std::byte* block, std::int64_t size_bytes) noexcept {
  --blocks_;
  insert(block, {whole_pages(size_bytes), true});
}

int PageRanges::trim(std::int64_t max_bytes) noexcept {
  int calls = 0;
  while (kept_bytes_ > max_bytes) {
    // The smallest range goes first: it fits the fewest requests. Only the needed part is cut from its end. If no node is
    // left for one more range, the whole range goes.
    const auto range = free_.find(kept_.begin()->second);
    std::byte* begin = range->first;
    const std::int64_t size = range->second.size_bytes;
    const bool may_split = nodes_.spare() >= nodes_of_range * (blocks_ + 1);
    const std::int64_t given = may_split ? std::min(size, whole_pages(kept_bytes_ - max_bytes)) : size;
    ++calls;
    if (!source_.unback(begin + (size - given), given)) break;
    erase(range);
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

PageRanges::ByAddress::iterator PageRanges::range_from(std::byte* begin) {
  return regions_.contains(begin) ? free_.end() : free_.find(begin);
}

PageRanges::ByAddress::iterator PageRanges::range_until(std::byte* end) {
  const auto after = free_.lower_bound(end);
  if (after == free_.begin() || regions_.contains(end)) return free_.end();
  const auto range = std::prev(after);
  return range->first + range->second.size_bytes == end ? range : free_.end();
}

void PageRanges::insert(std::byte* begin, Range range) {
  if (const auto after = range_from(begin + range.size_bytes);
      after != free_.end() && after->second.kept == range.kept) {
    range.size_bytes += after->second.size_bytes;
    erase(after);
  }
  if (const auto before = range_until(begin); before != free_.end() && before->second.kept == range.kept) {
    begin = before->first;
    range.size_bytes += before->second.size_bytes;
    erase(before);
  }
  free_.emplace(begin, range);
  of_kind(range.kept).emplace(range.size_bytes, begin);
  if (range.kept) kept_bytes_ += range.size_bytes;
}

void PageRanges::erase(ByAddress::iterator range) {
  of_kind(range->second.kept).erase({range->second.size_bytes, range->first});
  if (range->second.kept) kept_bytes_ -= range->second.size_bytes;
  free_.erase(range);
}

}  // namespace asyncgrad::detail
