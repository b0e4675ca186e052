// dropout: a tile is a range of chunks of random words, the last of which may be cut short. Its gradient is the same
// operation on dy.
#include <algorithm>

#include "asyncgrad/backends/cpu/dispatch.h"
#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/random/random_chunks.h"
#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/backends/element_types.h"

#include "asyncgrad/backends/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/random/dropout.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/random/philox-inl.h"

#ifndef ASYNCGRAD_BACKENDS_CPU_DROPOUT_ONCE
#define ASYNCGRAD_BACKENDS_CPU_DROPOUT_ONCE
namespace asyncgrad::detail {

template <class T>
struct DropoutLoops {
  // The n elements of a chunk, whose random words begin with those of `block`.
  void (*drop)(const DropoutAttributes& attributes, std::uint64_t block, const T* x, T* out, std::int64_t n);
};

}  // namespace asyncgrad::detail
#endif

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

// The words of a chunk in the order of the elements that they belong to.
struct ChunkWords {
  HWY_ALIGN std::uint32_t word[4 * chunk_blocks];
};

HWY_INLINE void words_of_chunk(std::uint64_t seed, std::uint64_t first_block, ChunkWords& words) {
  const hn::ScalableTag<std::uint32_t> d;
  PhiloxWords<chunk_blocks> blocks;
  philox_blocks(seed, first_block, blocks);
  for (std::size_t i = 0; i < chunk_blocks; i += hn::Lanes(d)) {
    hn::StoreInterleaved4(hn::Load(d, blocks.word[0] + i), hn::Load(d, blocks.word[1] + i),
                          hn::Load(d, blocks.word[2] + i), hn::Load(d, blocks.word[3] + i), d, words.word + 4 * i);
  }
}

template <class T>
void drop(const DropoutAttributes& a, std::uint64_t first_block, const T* x, T* out, std::int64_t n) {
  ChunkWords words;
  words_of_chunk(a.seed, first_block, words);
  const T scale = static_cast<T>(a.scale);
  std::int64_t i = 0;
  if constexpr (sizeof(T) == 4) {
    const hn::ScalableTag<std::uint32_t> d;
    const hn::ScalableTag<float> df;
    const auto limit = hn::Set(d, a.last_dropped);
    for (; i + static_cast<std::int64_t>(hn::Lanes(d)) <= n; i += static_cast<std::int64_t>(hn::Lanes(d))) {
      const auto kept = hn::RebindMask(df, hn::Gt(hn::Load(d, words.word + i), limit));
      hn::StoreU(hn::IfThenElseZero(kept, hn::Mul(hn::LoadU(df, x + i), hn::Set(df, scale))), df, out + i);
    }
  }
  for (; i < n; ++i) out[i] = words.word[i] > a.last_dropped ? x[i] * scale : T{0};
}

FloatingLoops<DropoutLoops> dropout_loops() { return {{drop<float>}, {drop<double>}}; }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

namespace {

HWY_EXPORT(dropout_loops);

const FloatingLoops<DropoutLoops>& dropout_loops() {
  static const auto loops = HWY_DYNAMIC_DISPATCH(dropout_loops)();
  return loops;
}

constexpr std::int64_t chunk_words = 4 * chunk_blocks, tile_words = tile_elements / 2;

int dropout_tiles(const KernelCall& call) { return tile_count(call.numel(0), tile_words); }

template <class T>
void run_tile(const KernelCall& call, int tile) {
  const auto& a = call.attributes<DropoutAttributes>();
  const Range elements = tile_range(call.numel(0), tile_words, tile);
  for (std::int64_t i = elements.begin; i < elements.end; i += chunk_words) {
    const std::uint64_t block = a.first_block + static_cast<std::uint64_t>(i / 4);
    const std::int64_t count = std::min(chunk_words, elements.end - i);
    dropout_loops().of<T>().drop(a, block, call.data<T>(1) + i, call.data<T>(0) + i, count);
  }
}

void run_dropout(const KernelCall& call, int tile) {
  visit_floating(call.dtype(0), [&]<class T>(T) { run_tile<T>(call, tile); });
}

}  // namespace

// A random word costs about as much as ten additions.
constinit const Kernel cpu_kernels::dropout{
    .run = run_dropout, .tiles = dropout_tiles, .cost = [](const KernelCall& call) { return 10 * call.numel(0); }};

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
