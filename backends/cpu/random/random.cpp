// Random numbers: a tile is a range of chunks, the last of which may be cut short.
#include <numeric>
#include <utility>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/random/random_chunks.h"
#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/backends/random_below.h"
#include "asyncgrad/core/backend/round_up.h"

namespace asyncgrad::detail {

namespace {

template <class T>
constexpr std::int64_t tile_chunks = tile_elements / RandomChunks<T>::elements;

template <class T>
std::int64_t chunks_of(const KernelCall& call) {
  return divided_up(call.numel(0), RandomChunks<T>::elements);
}

int random_tiles(const KernelCall& call) {
  return call.dtype(0) == DType::float32 ? tile_count(chunks_of<float>(call), tile_chunks<float>)
                                         : tile_count(chunks_of<double>(call), tile_chunks<double>);
}

// A random number costs about as much as ten additions.
std::int64_t random_cost(const KernelCall& call) { return 10 * call.numel(0); }

template <class T>
void fill_tile(const KernelCall& call, int tile, RandomChunk<T> fill) {
  constexpr std::int64_t elements = RandomChunks<T>::elements;
  const auto& attributes = call.attributes<RandomAttributes>();
  const Range chunks = tile_range(chunks_of<T>(call), tile_chunks<T>, tile);
  for (std::int64_t chunk = chunks.begin; chunk < chunks.end; ++chunk) {
    const std::uint64_t block = attributes.first_block + static_cast<std::uint64_t>(chunk * chunk_blocks);
    T* const out = call.data<T>(0) + chunk * elements;
    const std::int64_t wanted = std::min(elements, call.numel(0) - chunk * elements);
    if (wanted == elements) {
      fill(attributes.seed, block, attributes.low, attributes.high, out);
    } else {
      std::array<T, static_cast<std::size_t>(elements)> whole;
      fill(attributes.seed, block, attributes.low, attributes.high, whole.data());
      std::copy_n(whole.data(), wanted, out);
    }
  }
}

void run_uniform(const KernelCall& call, int tile) {
  visit_floating(call.dtype(0), [&]<class T>(T) { fill_tile<T>(call, tile, random_chunks().of<T>().uniform); });
}

void run_normal(const KernelCall& call, int tile) {
  visit_floating(call.dtype(0), [&]<class T>(T) { fill_tile<T>(call, tile, random_chunks().of<T>().normal); });
}

// --- integers

using ChunkWords = std::array<std::uint64_t, static_cast<std::size_t>(chunk_words)>;

// The numbers of a chunk, counted from the first one of the call.
ChunkWords words_of_chunk(const RandintAttributes& attributes, std::int64_t chunk) {
  ChunkWords words;
  random_words()(attributes.seed, attributes.first_block + static_cast<std::uint64_t>(chunk * chunk_blocks),
                 words.data());
  return words;
}

constexpr std::int64_t randint_tile_chunks = tile_elements / chunk_words / 4;
std::int64_t randint_chunks(const KernelCall& call) { return divided_up(call.numel(0), chunk_words); }

void run_randint(const KernelCall& call, int tile) {
  const auto& attributes = call.attributes<RandintAttributes>();
  const Range chunks = tile_range(randint_chunks(call), randint_tile_chunks, tile);
  for (std::int64_t chunk = chunks.begin; chunk < chunks.end; ++chunk) {
    const ChunkWords words = words_of_chunk(attributes, chunk);
    std::int64_t* const out = call.data<std::int64_t>(0) + chunk * chunk_words;
    const std::int64_t wanted = std::min(chunk_words, call.numel(0) - chunk * chunk_words);
    for (std::int64_t i = 0; i < wanted; ++i) {
      const std::uint64_t number = below(words[static_cast<std::size_t>(i)], attributes.span);
      out[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(attributes.low) + number);
    }
  }
}

// By Fisher and Yates, one after another: Knuth, "The Art of Computer Programming", volume 2, algorithm P.
void run_permutation(const KernelCall& call, int) {
  const auto& attributes = call.attributes<RandintAttributes>();
  std::int64_t* const out = call.data<std::int64_t>(0);
  const std::int64_t count = call.numel(0);
  std::iota(out, out + count, std::int64_t{0});
  ChunkWords words;
  for (std::int64_t i = 0; i + 1 < count; ++i) {
    if (i % chunk_words == 0) words = words_of_chunk(attributes, i / chunk_words);
    const std::uint64_t rest = static_cast<std::uint64_t>(count - i);
    const std::uint64_t step = below(words[static_cast<std::size_t>(i % chunk_words)], rest);
    std::swap(out[i], out[i + static_cast<std::int64_t>(step)]);
  }
}

}  // namespace

constinit const Kernel cpu_kernels::uniform{.run = run_uniform, .tiles = random_tiles, .cost = random_cost};
constinit const Kernel cpu_kernels::normal{.run = run_normal, .tiles = random_tiles, .cost = random_cost};
constinit const Kernel cpu_kernels::randint{
    .run = run_randint,
    .tiles = [](const KernelCall& call) { return tile_count(randint_chunks(call), randint_tile_chunks); },
    .cost = random_cost};
constinit const Kernel cpu_kernels::permutation{.run = run_permutation, .cost = random_cost};

}  // namespace asyncgrad::detail
