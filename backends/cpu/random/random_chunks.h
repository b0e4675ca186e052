// Random numbers, in chunks. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/backends/cpu/dispatch.h"

namespace asyncgrad::detail {

// A chunk is this many blocks of Philox, each of four 32-bit words.
inline constexpr std::int64_t chunk_blocks = 64;

// Fills a whole chunk: 256 float or 128 double. `a` and `b` are the parameters of the distribution. Bits depend only on
// the seed, the block and the element's index in its block; they are the same under every instruction set.
template <class T>
using RandomChunk = void (*)(std::uint64_t seed, std::uint64_t first_block, double a, double b, T* out);

template <class T>
struct RandomChunks {
  static constexpr std::int64_t block_elements = 16 / static_cast<std::int64_t>(sizeof(T));
  static constexpr std::int64_t elements = chunk_blocks * block_elements;

  // a + (b - a) u in (a, b]. For a = 0, b = 1 float32 has the bits of cuRAND's host generator, a word for an element.
  // double takes 53 bits of two words by cuRAND's formula, but it takes the pairs of a block in turn. cuRAND draws from
  // blocks that are far apart, so that the numbers of a call would depend on how many it takes.
  RandomChunk<T> uniform;
  // a + b n with n from N(0, 1) by the method of Box and Muller: words w and w' give sqrt(-2 ln u(w)) times the cosine
  // and the sine of 2 pi w' / 2^32. For double two words make each u.
  RandomChunk<T> normal;
};

// Fills `out` with the 128 numbers of 64 bits of a chunk: each is made of two words, the lower half first.
using RandomWords = void (*)(std::uint64_t seed, std::uint64_t first_block, std::uint64_t* out);
inline constexpr std::int64_t chunk_words = 2 * chunk_blocks;

// The functions for the best instruction set that this processor has.
RandomWords random_words();
const FloatingLoops<RandomChunks>& random_chunks();

}  // namespace asyncgrad::detail
