// Random numbers by the chunk. Internal.
#pragma once

#include <cstdint>

namespace asyncgrad::detail {

// A chunk is this many blocks of Philox, each of four 32-bit words.
inline constexpr std::int64_t chunk_blocks = 64;

// Fills a whole chunk: 256 float or 128 double. `a` and `b` are those of the distribution. Bits depend on the seed, the
// block and the element's place in its block alone; they are the same under every instruction set.
template <class T>
using RandomChunk = void (*)(std::uint64_t seed, std::uint64_t first_block, double a, double b, T* out);

template <class T>
struct RandomChunks {
  static constexpr std::int64_t block_elements = 16 / static_cast<std::int64_t>(sizeof(T));
  static constexpr std::int64_t elements = chunk_blocks * block_elements;

  // In (a, b], a + (b - a) u. For a = 0, b = 1 float32 is bit-equal to cuRAND's host generator, a word an element.
  // double takes 53 bits of two words by cuRAND's formula; but each pair of a block in turn, where cuRAND's order draws
  // from blocks that are far apart, so that what one call takes would depend on how much it takes.
  RandomChunk<T> uniform;
  // a + b n, n from N(0, 1) by Box and Muller's method: words w and w' give sqrt(-2 ln u(w)) times the cosine and the
  // sine of 2 pi w' / 2^32. For double, u of two words each.
  RandomChunk<T> normal;
};

// For the best instruction set that this processor has.
const RandomChunks<float>& float32_random();
const RandomChunks<double>& float64_random();

}  // namespace asyncgrad::detail
