// Reductions along an axis. Internal.
//
// Long axes are cut into chunks, whose results are reduced again until one is left. So the order of every sum depends
// on the shape alone.
#pragma once

#include "asyncgrad/backends/cuda/kernels/for_each.cuh"
#include "asyncgrad/backends/divided.h"

namespace asyncgrad::detail::cuda {

// The lines along the middle one of three axes.
struct Lines {
  std::int64_t outer, axis, inner;

  __host__ __device__ std::int64_t count() const { return outer * inner; }
  // The line's first element; the next one is `inner` further.
  __device__ std::int64_t first(std::int64_t line) const {
    const Divided at = divided(line, inner);
    return at.quotient * axis * inner + at.remainder;
  }
  // Chunks of a line are short where adjacent threads read adjacent lines, and long where they read along one line.
  __host__ __device__ std::int64_t chunk() const { return inner == 1 ? 16384 : 64; }
  __host__ __device__ std::int64_t chunks() const { return axis <= chunk() ? 1 : (axis + chunk() - 1) / chunk(); }
};
// Whether a block for each line would leave most of a GPU idle, so that an operation that goes through lines several times
// had better reduce their chunks, and then compute each element by itself.
inline bool are_few_and_long(const Lines& lines) {
  return lines.count() > 0 && lines.count() < 256 && lines.axis > 16384;
}

inline Lines lines_of(const KernelCall& call) {
  const auto& a = call.attributes<ReduceAttributes>();
  return {a.outer, a.axis, a.inner};
}

// A reduction has
//   Partial                            what elements are combined in, at most 16 bytes
//   identity() -> Partial
//   value(line, element) -> Partial    of an element of the input, called once for each
//   combine(Partial, Partial) -> Partial
//   finish(line, Partial)              writes the result of a line

// The same reduction over the partials of chunks.
template <class Reduction>
struct OfChunks : Reduction {
  const typename Reduction::Partial* partials;
  __device__ typename Reduction::Partial value(std::int64_t, std::int64_t element) const { return partials[element]; }
};
template <class Reduction>
OfChunks<Reduction> of_chunks(const Reduction& reduction, const typename Reduction::Partial* partials) {
  return {reduction, partials};
}
template <class Reduction>
OfChunks<Reduction> of_chunks(OfChunks<Reduction> reduction, const typename Reduction::Partial* partials) {
  reduction.partials = partials;
  return reduction;
}

// A chunk of a line. Chunks are in the order of (outer, chunk, inner); the first two make a row.
struct Chunk {
  std::int64_t line, first, n;  // its first element, and how many it has, `inner` apart

  __device__ Chunk(const Lines& lines, std::int64_t row, std::int64_t column) {
    const Divided chunk = divided(row, lines.chunks());
    const std::int64_t begin = chunk.remainder * lines.chunk();
    line = chunk.quotient * lines.inner + column;
    n = lines.axis - begin < lines.chunk() ? lines.axis - begin : lines.chunk();
    first = (chunk.quotient * lines.axis + begin) * lines.inner + column;
  }
  __device__ Chunk(const Lines& lines, std::int64_t item) : Chunk(lines, divided(item, lines.inner)) {}

 private:
  __device__ Chunk(const Lines& lines, const Divided& place) : Chunk(lines, place.quotient, place.remainder) {}
};

// The reduction of a chunk.
template <class Reduction>
struct ReduceChunk {
  using Partial = typename Reduction::Partial;
  Reduction reduction;
  Lines lines;
  Partial* partials;  // null: a line is one chunk

  // An item is a chunk.
  template <class Team>
  __device__ void operator()(Team team, std::int64_t item) const {
    const Divided column = divided(item, lines.inner);
    const Partial partial = reduced(team, column.quotient, column.remainder);
    team.each(1, [&](std::int64_t) { put(column.quotient, column.remainder, partial); });
  }
  // An item is the chunks of some adjacent lines.
  __device__ void operator()(Strip strip, std::int64_t item) const {
    const Divided at = divided(item, strips(lines));
    const std::int64_t column = at.remainder * Strip::columns + strip.column();
    const Partial partial = reduced(strip, at.quotient, column);
    if (strip.is_first_row() && column < lines.inner) put(at.quotient, column, partial);
  }
  static __host__ __device__ std::int64_t strips(const Lines& lines) {
    return (lines.inner + Strip::columns - 1) / Strip::columns;
  }

 private:
  template <class Threads>
  __device__ Partial reduced(Threads threads, std::int64_t row, std::int64_t column) const {
    const Chunk chunk(lines, row, column);
    return threads.reduce(
        column < lines.inner ? chunk.n : 0, reduction.identity(),
        [&](std::int64_t i) { return reduction.value(chunk.line, chunk.first + i * lines.inner); },
        [&](const Partial& x, const Partial& y) { return reduction.combine(x, y); });
  }
  __device__ void put(std::int64_t row, std::int64_t column, const Partial& partial) const {
    if (partials == nullptr) {
      reduction.finish(row * lines.inner + column, partial);
    } else {
      partials[row * lines.inner + column] = partial;
    }
  }
};

inline std::int64_t reduce_scratch_bytes(Lines lines) {
  std::int64_t bytes = 0;
  for (; lines.chunks() > 1; lines.axis = lines.chunks()) bytes += 16 * lines.count() * lines.chunks();
  return bytes;
}

// A team for each chunk.
template <class Body>
void for_chunks(const KernelCall& call, const Lines& lines, const Body& body) {
  const std::int64_t chunks = lines.count() * lines.chunks();
  if (lines.inner > 1) {
    for_teams<1>(call, chunks, body);
  } else {
    for_teams_of(lines.axis, call, chunks, body);
  }
}

template <class Reduction>
void reduce_chunks(const KernelCall& call, const Lines& lines, const ReduceChunk<Reduction>& body) {
  if (lines.inner == 1 || lines.axis < Strip::rows) return for_chunks(call, lines, body);
  for_strips(call, lines.outer * lines.chunks() * body.strips(lines), body);
}

// `scratch`: of reduce_scratch_bytes.
template <class Reduction>
void reduce(const KernelCall& call, const Lines& lines, const Reduction& reduction, std::byte* scratch) {
  using Partial = typename Reduction::Partial;
  static_assert(sizeof(Partial) <= 16);
  const std::int64_t chunks = lines.chunks();
  if (chunks == 1) return reduce_chunks(call, lines, ReduceChunk<Reduction>{reduction, lines, nullptr});
  auto* const partials = reinterpret_cast<Partial*>(scratch);
  reduce_chunks(call, lines, ReduceChunk<Reduction>{reduction, lines, partials});
  reduce(call, {lines.outer, chunks, lines.inner}, of_chunks(reduction, partials),
         scratch + 16 * lines.count() * chunks);
}

// The sum, in double or, for integers, wrapping around.
template <class T>
struct Summing {
  using Partial = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;
  __device__ Partial identity() const { return 0; }
  __device__ Partial combine(Partial x, Partial y) const { return x + y; }
};

// The larger of two; NaN if either is NaN.
template <class T>
__device__ T larger(T x, T y) {
  return x > y || x != x ? x : y;
}
template <class T>
__device__ constexpr T lowest() {
  if constexpr (std::is_integral_v<T>) {
    return std::numeric_limits<T>::min();
  } else {
    return -std::numeric_limits<T>::infinity();
  }
}

}  // namespace asyncgrad::detail::cuda
