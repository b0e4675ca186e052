// The order of elements along an axis. NaN counts as the largest, and equal elements stay in their order, so that the
// order is the same whatever sorts them.
#include <algorithm>
#include <bit>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/backends/element_types.h"
#include "asyncgrad/core/backend/sort_order.h"

namespace asyncgrad::detail {

namespace {

template <class T>
struct Entry {
  T value;
  std::int64_t place;
};

template <class T>
struct ComesBefore {
  bool is_descending;
  bool operator()(const Entry<T>& a, const Entry<T>& b) const {
    if (is_less(a.value, b.value)) return !is_descending;
    if (is_less(b.value, a.value)) return is_descending;
    return a.place < b.place;
  }
};

// A tile is a range of lines.
std::int64_t lines(const SortAttributes& a) { return a.outer * a.inner; }
std::int64_t comparisons_of_line(const SortAttributes& a) {
  return a.axis * std::bit_width(static_cast<std::uint64_t>(a.count));
}
std::int64_t lines_per_tile(const SortAttributes& a) { return items_per_tile(comparisons_of_line(a)); }

// Writes the first `count` entries of the line in their order. Meanwhile `entries` is a heap with the last of them on top,
// which gives way to any that comes before it.
template <class T>
void sort_line(const T* line, const SortAttributes& a, Entry<T>* entries) {
  const ComesBefore<T> comes_before{a.is_descending};
  for (std::int64_t i = 0; i < a.count; ++i) entries[i] = {line[i * a.inner], i};
  if (a.count == a.axis) return std::sort(entries, entries + a.count, comes_before);
  std::make_heap(entries, entries + a.count, comes_before);
  for (std::int64_t i = a.count; i < a.axis; ++i) {
    const Entry<T> entry{line[i * a.inner], i};
    if (!comes_before(entry, entries[0])) continue;
    std::pop_heap(entries, entries + a.count, comes_before);
    entries[a.count - 1] = entry;
    std::push_heap(entries, entries + a.count, comes_before);
  }
  std::sort_heap(entries, entries + a.count, comes_before);
}

int argsort_tiles(const KernelCall& call) {
  const auto& a = call.attributes<SortAttributes>();
  return tile_count(lines(a), lines_per_tile(a));
}

void run_argsort(const KernelCall& call, int tile) {
  const auto& a = call.attributes<SortAttributes>();
  if (a.count == 0) return;
  const Range range = tile_range(lines(a), lines_per_tile(a), tile);
  visit_arithmetic(call.dtype(1), [&]<class T>(T) {
    auto* const entries = reinterpret_cast<Entry<T>*>(call.scratch);
    for (std::int64_t line = range.begin; line < range.end; ++line) {
      const std::int64_t outer = line / a.inner, inner = line % a.inner;
      sort_line(call.data<T>(1) + outer * a.axis * a.inner + inner, a, entries);
      std::int64_t* const out = call.data<std::int64_t>(0) + outer * a.count * a.inner + inner;
      for (std::int64_t i = 0; i < a.count; ++i) out[i * a.inner] = entries[i].place;
    }
  });
}

std::int64_t argsort_scratch(const KernelCall& call) {
  std::int64_t bytes = 0;
  visit_arithmetic(call.dtype(1), [&]<class T>(T) {
    bytes = call.attributes<SortAttributes>().count * static_cast<std::int64_t>(sizeof(Entry<T>));
  });
  return bytes;
}

std::int64_t argsort_cost(const KernelCall& call) {
  const auto& a = call.attributes<SortAttributes>();
  return lines(a) * comparisons_of_line(a);
}

}  // namespace

constinit const Kernel cpu_kernels::argsort{
    .run = run_argsort, .tiles = argsort_tiles, .scratch_bytes = argsort_scratch, .cost = argsort_cost};

}  // namespace asyncgrad::detail
