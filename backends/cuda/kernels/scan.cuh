// What comes before each element of a line, combined. Internal.
//
// Long lines are cut into chunks: first each chunk is reduced, then the chunks of a line are scanned in the same way, and
// then the elements of each chunk. So the order depends on the shape alone.
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

// The scan of the chunks' partials, (outer, chunks, inner): puts into the place of each what comes before the chunk.
template <class Scan>
struct ScanPartials : Scan {
  using Partial = typename Scan::Partial;
  Partial* partials;

  __device__ Partial value(std::int64_t, std::int64_t element) const { return partials[element]; }
  __device__ void put(std::int64_t, std::int64_t element, const Partial& before, const Partial&) const {
    partials[element] = before;
  }
};
template <class Scan>
ScanPartials<Scan> of_partials(const Scan& scan, typename Scan::Partial* partials) {
  return {scan, partials};
}
template <class Scan>
ScanPartials<Scan> of_partials(ScanPartials<Scan> scan, typename Scan::Partial* partials) {
  scan.partials = partials;
  return scan;
}

// Chunks are short where adjacent threads scan adjacent lines, and long where they scan one line.
inline Chunks chunks_to_scan(const Lines& lines) { return {lines, lines.inner == 1 ? 16384 : 64}; }

template <class Scan>
struct ScanChunk {
  using Partial = typename Scan::Partial;
  Scan scan;
  Chunks chunks;
  bool from_end;
  const Partial* partials;  // null: a line is one chunk

  template <class Team>
  __device__ void operator()(Team team, std::int64_t item) const {
    const Chunk chunk(chunks, item);
    Partial before = partials == nullptr ? scan.identity() : partials[item];
    for (std::int64_t begin = 0; begin < chunk.n; begin += Team::size) {
      const std::int64_t place = begin + Team::lane();
      const bool is_there = place < chunk.n;
      const std::int64_t element = chunk.first + (from_end ? chunk.n - 1 - place : place) * chunks.lines.inner;
      const Partial value = is_there ? scan.value(chunk.line, element) : scan.identity();
      const auto combine = [&](const Partial& x, const Partial& y) { return scan.combine(x, y); };
      const Scanned<Partial> of_team = scanned(team, value, scan.identity(), combine);
      if (is_there) scan.put(chunk.line, element, scan.combine(before, of_team.before), value);
      before = scan.combine(before, of_team.all);
    }
  }
};

// A partial for each chunk, which has at least 64 elements, and for the chunks of those.
template <class Scan>
std::int64_t scan_scratch_bytes(Lines lines) {
  std::int64_t partials = 0;
  for (Chunks chunks = chunks_to_scan(lines); chunks.of_line() > 1; chunks = chunks_to_scan(lines)) {
    partials += chunks.count();
    lines.axis = chunks.of_line();
  }
  return partials * static_cast<std::int64_t>(sizeof(typename Scan::Partial));
}

// `scratch`: of scan_scratch_bytes. `from_end`: what comes before an element are those behind it.
template <class Scan>
void run_scan(const KernelCall& call, const Lines& lines, const Scan& scan, bool from_end, std::byte* scratch) {
  using Partial = typename Scan::Partial;
  if (lines.axis == 0) return;
  const Chunks chunks = chunks_to_scan(lines);
  if (chunks.of_line() == 1) return for_chunks(call, chunks, ScanChunk<Scan>{scan, chunks, from_end, nullptr});
  auto* const partials = reinterpret_cast<Partial*>(scratch);
  reduce_chunks(call, chunks, ReduceForScan<Scan>{scan}, partials);
  run_scan(call, {lines.outer, chunks.of_line(), lines.inner}, of_partials(scan, partials), from_end,
           scratch + chunks.count() * static_cast<std::int64_t>(sizeof(Partial)));
  for_chunks(call, chunks, ScanChunk<Scan>{scan, chunks, from_end, partials});
}

}  // namespace asyncgrad::detail::cuda
