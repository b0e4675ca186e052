#include "asyncgrad/core/memory/holders.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "asyncgrad/core/memory/planner.h"
#include "asyncgrad/core/memory/storage.h"

namespace asyncgrad::detail {

namespace {

// What a block is, in the report's order.
enum class Kind : std::uint8_t { parameter, state, gradient, held, no_recipe, needs_too_much, other, count };

struct KindNames {
  const char* one;
  const char* all;
};
constexpr std::array<KindNames, static_cast<std::size_t>(Kind::count)> kind_names = {{
    {"; a parameter", "of parameters"},
    {"; an optimiser's state", "of optimisers' states"},
    {"; a gradient", "of gradients"},
    {"; held by the program, or in use", "held by the program or in use"},
    {"; cannot be computed again", "that cannot be computed again"},
    {"; needs too much that is not there", "that need too much which is not there"},
    {"", "of other values"},
}};

Kind kind_of(const Storage& storage, const Holders::Holder& holder) {
  const StorageUse use = storage.use.load(std::memory_order_relaxed);
  if (use == StorageUse::parameter) return Kind::parameter;
  if (use == StorageUse::optimizer_state) return Kind::state;
  if (holder.origin.backward.file != nullptr && !holder.origin.is_again) return Kind::gradient;
  const Planner* const planner = Planner::get();
  switch (planner == nullptr ? Planner::Kept::may_go : planner->why_kept(storage)) {
    case Planner::Kept::is_held:
      return Kind::held;
    case Planner::Kept::has_no_recipe:
      return Kind::no_recipe;
    case Planner::Kept::needs_too_much:
      return Kind::needs_too_much;
    case Planner::Kept::may_go:
      break;
  }
  return Kind::other;
}

}  // namespace

void Holders::add(const Storage& storage, const Holder& holder) {
  const MutexLock lock(mutex_);
  holders_.insert_or_assign(&storage, holder);
}

void Holders::note(const Storage& storage, Holder holder) {
  holder.size_bytes = storage.size_bytes;
  if (storage.size_bytes >= min_bytes) add(storage, holder);
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
  std::array<std::int64_t, kind_names.size()> bytes{};
  std::string text;
  for (std::size_t i = 0; i < largest.size(); ++i) {
    const auto& [storage, holder] = largest[i];
    const auto kind = static_cast<std::size_t>(kind_of(*storage, *holder));
    bytes[kind] += holder->size_bytes;
    if (i >= max_lines) continue;
    text += fmt::format("\n  held: {} bytes by {} {}, queued at {}{}", holder->size_bytes, holder->operation,
                        holder->shape.str(), holder->origin.str(), kind_names[kind].one);
  }
  if (largest.size() > max_lines) text += fmt::format("\n  and {} more", largest.size() - max_lines);
  const char* separator = "\n  in all: ";
  for (std::size_t kind = 0; kind < bytes.size(); ++kind) {
    if (bytes[kind] == 0) continue;
    text += fmt::format("{}{} bytes {}", separator, bytes[kind], kind_names[kind].all);
    separator = ", ";
  }
  return text;
}

}  // namespace asyncgrad::detail
