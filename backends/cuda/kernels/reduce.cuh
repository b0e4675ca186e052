// Reductions along an axis. Internal.
//
// Long axes are cut into chunks, whose results are reduced again until one is left. So the order of every sum depends
// on the shape alone.
#pragma once

#include <algorithm>

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
};

// Lines that are cut into chunks of `size` elements; the last one of a line may be smaller.
struct Chunks {
  Lines lines;
  std::int64_t size;

  __host__ __device__ std::int64_t of_line() const { return lines.axis <= size ? 1 : (lines.axis + size - 1) / size; }
  std::int64_t count() const { return lines.count() * of_line(); }
};

// Adjacent lines that a block reduces together, so that its threads read adjacent elements. It has all columns of narrow
// matrices, and else equal shares.
struct Strips {
  std::int64_t of_row;
  int columns;

  explicit Strips(std::int64_t inner)
      : of_row(std::max<std::int64_t>(1, (inner + most - 1) / most)),
        columns(static_cast<int>(std::max<std::int64_t>(1, (inner + of_row - 1) / of_row))) {}
  int rows() const { return block_threads / columns; }

 private:
  static constexpr std::int64_t most = 64;
};

// Chunks for a reduction: a block has some elements for each of its threads, and there are no more blocks than keep a
// GPU busy, as what they leave is reduced again.
inline Chunks chunks_to_reduce(const Lines& lines) {
  if (lines.inner == 1) return {lines, 16384};
  constexpr std::int64_t block_elements = 8 * block_threads, many_blocks = 1024;
  const Strips strips(lines.inner);
  const std::int64_t parts = (lines.axis * strips.columns + block_elements - 1) / block_elements;
  const std::int64_t most = many_blocks / std::max<std::int64_t>(1, lines.outer * strips.of_row);
  const std::int64_t of_line = std::max<std::int64_t>(1, std::min(parts, most));
  return {lines, (lines.axis + of_line - 1) / of_line};
}
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

  __device__ Chunk(const Chunks& chunks, std::int64_t row, std::int64_t column) {
    const Lines& lines = chunks.lines;
    const Divided chunk = divided(row, chunks.of_line());
    const std::int64_t begin = chunk.remainder * chunks.size;
    line = chunk.quotient * lines.inner + column;
    n = lines.axis - begin < chunks.size ? lines.axis - begin : chunks.size;
    first = (chunk.quotient * lines.axis + begin) * lines.inner + column;
  }
  __device__ Chunk(const Chunks& chunks, std::int64_t item) : Chunk(chunks, divided(item, chunks.lines.inner)) {}

 private:
  __device__ Chunk(const Chunks& chunks, const Divided& place) : Chunk(chunks, place.quotient, place.remainder) {}
};

// The reduction of a chunk.
template <class Reduction>
struct ReduceChunk {
  using Partial = typename Reduction::Partial;
  Reduction reduction;
  Chunks chunks;
  std::int64_t strips_of_row;
  Partial* partials;  // null: a line is one chunk

  // An item is a chunk.
  template <class Team>
  __device__ void operator()(Team team, std::int64_t item) const {
    const Divided column = divided(item, chunks.lines.inner);
    const Partial partial = reduced(team, column.quotient, column.remainder);
    team.each(1, [&](std::int64_t) { put(column.quotient, column.remainder, partial); });
  }
  // An item is the chunks of some adjacent lines.
  __device__ void operator()(Strip strip, std::int64_t item) const {
    const Divided at = divided(item, strips_of_row);
    const std::int64_t column = at.remainder * strip.columns() + strip.column();
    const Partial partial = reduced(strip, at.quotient, column);
    if (strip.is_first_row() && column < chunks.lines.inner) put(at.quotient, column, partial);
  }

 private:
  template <class Threads>
  __device__ Partial reduced(Threads threads, std::int64_t row, std::int64_t column) const {
    const Chunk chunk(chunks, row, column);
    const std::int64_t step = chunks.lines.inner;
    return threads.reduce(
        column < step ? chunk.n : 0, reduction.identity(),
        [&](std::int64_t i) { return reduction.value(chunk.line, chunk.first + i * step); },
        [&](const Partial& x, const Partial& y) { return reduction.combine(x, y); });
  }
  __device__ void put(std::int64_t row, std::int64_t column, const Partial& partial) const {
    if (partials == nullptr) {
      reduction.finish(row * chunks.lines.inner + column, partial);
    } else {
      partials[row * chunks.lines.inner + column] = partial;
    }
  }
};

inline std::int64_t reduce_scratch_bytes(Lines lines) {
  const Chunks chunks = chunks_to_reduce(lines);
  if (chunks.of_line() == 1) return 0;
  return 16 * chunks.count() + reduce_scratch_bytes({lines.outer, chunks.of_line(), lines.inner});
}

// A team for each chunk.
template <class Body>
void for_chunks(const KernelCall& call, const Chunks& chunks, const Body& body) {
  if (chunks.lines.inner > 1) return for_teams<1>(call, chunks.count(), body);
  for_teams_of(chunks.lines.axis, call, chunks.count(), body);
}

// `partials`: null for finish() of each line, which is one chunk.
template <class Reduction>
void reduce_chunks(const KernelCall& call, const Chunks& chunks, const Reduction& reduction,
                   typename Reduction::Partial* partials) {
  const Lines& lines = chunks.lines;
  const Strips strips(lines.inner);
  const ReduceChunk<Reduction> body{reduction, chunks, strips.of_row, partials};
  if (lines.inner == 1 || lines.axis < std::max(8, strips.rows())) return for_chunks(call, chunks, body);
  for_strips(strips.columns, call, lines.outer * chunks.of_line() * strips.of_row, body);
}

// `scratch`: of reduce_scratch_bytes.
template <class Reduction>
void reduce(const KernelCall& call, const Lines& lines, const Reduction& reduction, std::byte* scratch) {
  using Partial = typename Reduction::Partial;
  static_assert(sizeof(Partial) <= 16);
  if (lines.count() == 0) return;
  const Chunks chunks = chunks_to_reduce(lines);
  if (chunks.of_line() == 1) return reduce_chunks(call, chunks, reduction, nullptr);
  auto* const partials = reinterpret_cast<Partial*>(scratch);
  reduce_chunks(call, chunks, reduction, partials);
  reduce(call, {lines.outer, chunks.of_line(), lines.inner}, of_chunks(reduction, partials),
         scratch + 16 * chunks.count());
}

// The line of an element.
struct LineOf {
  Divisor inner, axis;
  std::int64_t step;

  explicit LineOf(const Lines& lines) : inner(lines.inner), axis(lines.axis), step(lines.inner) {}
  __device__ std::int64_t operator()(std::int64_t element) const {
    const Divided at = inner(element);
    return axis(at.quotient).quotient * step + at.remainder;
  }
};

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
