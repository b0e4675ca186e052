#include "asyncgrad/core/memory/holders.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace asyncgrad::detail {

void Holders::add(const Storage& storage, const Holder& holder) {
  const MutexLock lock(mutex_);
  holders_.insert_or_assign(&storage, holder);
}

void Holders::remove(const Storage& storage) {
  const MutexLock lock(mutex_);
  holders_.erase(&storage);
}

std::string Holders::str() const {
  const MutexLock lock(mutex_);
  std::vector<const Holder*> largest;
  for (const auto& [storage, holder] : holders_) largest.push_back(&holder);
  std::ranges::sort(largest, [](const Holder* a, const Holder* b) { return a->size_bytes > b->size_bytes; });
  std::string text;
  for (std::size_t i = 0; i < std::min(max_lines, largest.size()); ++i) {
    const Holder& holder = *largest[i];
    text += fmt::format("\n  held: {} bytes by {} {}, queued at {}", holder.size_bytes, holder.operation,
                        holder.shape.str(), holder.origin.str());
  }
  if (largest.size() > max_lines) text += fmt::format("\n  and {} more", largest.size() - max_lines);
  return text;
}

}  // namespace asyncgrad::detail
