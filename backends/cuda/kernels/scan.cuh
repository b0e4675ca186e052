// What comes before each element of a line, combined. Internal.
//
// Long lines are cut into the chunks of a reduction: first each chunk is reduced, then the chunks of a line are scanned,
// and then the elements of each chunk. So the order depends on the shape alone.
#pragma once

#include "asyncgrad/backends/cuda/kernels/reduce.cuh"

namespace asyncgrad::detail::cuda {

// A scan has
//   Partial                                what elements are combined in
//   identity() -> Partial
//   value(line, element) -> Partial        of an element of the input
//   combine(Partial, Partial) -> Partial
//   put(line, element, before, value)      writes the result of an element: `before` is what comes before it, combined

template <class Partial>
struct Scanned {
  Partial before, all;
};

// Of the values of a team's lanes: those before this one, and all.
template <class Team, class Partial, class Combine>
__device__ Scanned<Partial> scanned(Team team, const Partial& value, const Partial& identity, Combine combine) {
  if constexpr (Team::size == 1) {
    return {identity, value};
  } else {
    __shared__ Partial values[block_threads];
    const int lane = Team::lane();
    Partial* const of_team = values + (static_cast<int>(threadIdx.x) - lane);
    of_team[lane] = value;
    for (int by = 1; by < Team::size; by *= 2) {
      team.meet();
      const Partial before = lane >= by ? of_team[lane - by] : identity;
      team.meet();
      of_team[lane] = combine(before, of_team[lane]);
    }
    team.meet();
    const Scanned<Partial> result{lane > 0 ? of_team[lane - 1] : identity, of_team[Team::size - 1]};
    team.meet();  // the next values are written there
    return result;
  }
}

// The reduction that a scan begins with.
template <class Scan>
struct ReduceForScan : Scan {
  __device__ void finish(std::int64_t, const typename Scan::Partial&) const {}
};

// Puts into the place of each chunk's partial what comes before the chunk. The partials are (outer, chunks, inner).
template <class Scan>
struct ScanChunks {
  using Partial = typename Scan::Partial;
  Scan scan;
  Lines lines;  // of partials
  bool from_end;
  Partial* partials;

  __device__ void operator()(std::int64_t line) const {
    const std::int64_t first = lines.first(line);
    Partial before = scan.identity();
    for (std::int64_t k = 0; k < lines.axis; ++k) {
      Partial& partial = partials[first + (from_end ? lines.axis - 1 - k : k) * lines.inner];
      const Partial next = scan.combine(before, partial);
      partial = before;
      before = next;
    }
  }
};

template <class Scan>
struct ScanChunk {
  using Partial = typename Scan::Partial;
  Scan scan;
  Lines lines;
  bool from_end;
  const Partial* partials;  // null: a line is one chunk

  template <class Team>
  __device__ void operator()(Team team, std::int64_t item) const {
    const Chunk chunk(lines, item);
    Partial before = partials == nullptr ? scan.identity() : partials[item];
    for (std::int64_t begin = 0; begin < chunk.n; begin += Team::size) {
      const std::int64_t place = begin + Team::lane();
      const bool is_there = place < chunk.n;
      const std::int64_t element = chunk.first + (from_end ? chunk.n - 1 - place : place) * lines.inner;
      const Partial value = is_there ? scan.value(chunk.line, element) : scan.identity();
      const auto combine = [&](const Partial& x, const Partial& y) { return scan.combine(x, y); };
      const Scanned<Partial> of_team = scanned(team, value, scan.identity(), combine);
      if (is_there) scan.put(chunk.line, element, scan.combine(before, of_team.before), value);
      before = scan.combine(before, of_team.all);
    }
  }
};

// A partial for each chunk, which has at least 64 elements.
template <class Scan>
std::int64_t scan_scratch_bytes(const Lines& lines) {
  return lines.chunks() == 1
             ? 0
             : lines.count() * lines.chunks() * static_cast<std::int64_t>(sizeof(typename Scan::Partial));
}

// `scratch`: of scan_scratch_bytes. `from_end`: what comes before an element are those behind it.
template <class Scan>
void run_scan(const KernelCall& call, const Lines& lines, const Scan& scan, bool from_end, std::byte* scratch) {
  if (lines.axis == 0) return;
  typename Scan::Partial* partials = nullptr;
  if (lines.chunks() > 1) {
    partials = reinterpret_cast<typename Scan::Partial*>(scratch);
    reduce_chunks(call, lines, ReduceChunk<ReduceForScan<Scan>>{{scan}, lines, partials});
    for_each(call, lines.count(),
             ScanChunks<Scan>{scan, {lines.outer, lines.chunks(), lines.inner}, from_end, partials});
  }
  for_chunks(call, lines, ScanChunk<Scan>{scan, lines, from_end, partials});
}

}  // namespace asyncgrad::detail::cuda
