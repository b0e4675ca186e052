// uniform and normal: a tile is a range of chunks, the last of which may be cut short.
#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/random_chunks.h"
#include "asyncgrad/backends/cpu/tiling.h"

namespace asyncgrad::detail {

namespace {

template <class T>
constexpr std::int64_t tile_chunks = tile_elements / RandomChunks<T>::elements;

template <class T>
std::int64_t chunks_of(const KernelCall& call) {
  return (call.numel(0) + RandomChunks<T>::elements - 1) / RandomChunks<T>::elements;
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
  if (call.dtype(0) == DType::float32) return fill_tile<float>(call, tile, float32_random().uniform);
  fill_tile<double>(call, tile, float64_random().uniform);
}

void run_normal(const KernelCall& call, int tile) {
  if (call.dtype(0) == DType::float32) return fill_tile<float>(call, tile, float32_random().normal);
  fill_tile<double>(call, tile, float64_random().normal);
}

}  // namespace

void add_random_kernels(Backend& backend) {
  kernel_of(backend, Op::uniform) = {.run = run_uniform, .tiles = random_tiles, .cost = random_cost};
  kernel_of(backend, Op::normal) = {.run = run_normal, .tiles = random_tiles, .cost = random_cost};
}

}  // namespace asyncgrad::detail
