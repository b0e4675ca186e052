#include "asyncgrad/core/memory/holders.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "asyncgrad/core/memory/planner.h"

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
  std::vector<std::pair<const Storage*, const Holder*>> largest;
  for (const auto& [storage, holder] : holders_) largest.emplace_back(storage, &holder);
  std::ranges::sort(largest, std::greater(), [](const auto& entry) { return entry.second->size_bytes; });
  const Planner* const planner = Planner::get();
  std::string text;
  for (std::size_t i = 0; i < std::min(max_lines, largest.size()); ++i) {
    const auto& [storage, holder] = largest[i];
    text +=
        fmt::format("\n  held: {} bytes by {} {}, queued at {}{}", holder->size_bytes, holder->operation,
                    holder->shape.str(), holder->origin.str(), planner == nullptr ? "" : planner->why_kept(*storage));
  }
  if (largest.size() > max_lines) text += fmt::format("\n  and {} more", largest.size() - max_lines);
  return text;
}

}  // namespace asyncgrad::detail
