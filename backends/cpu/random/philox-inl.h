// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011), many blocks at
// once, for each instruction set. Internal.
#include <hwy/highway.h>

#if defined(ASYNCGRAD_PHILOX_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ASYNCGRAD_PHILOX_INL
#undef ASYNCGRAD_PHILOX_INL
#else
#define ASYNCGRAD_PHILOX_INL
#endif

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The four words of `count` blocks; count is a multiple of every vector's length.
template <std::size_t count>
struct PhiloxWords {
  HWY_ALIGN std::uint32_t word[4][count];
};

// A 32-bit word in each 64-bit lane, because products need the room. The upper half of a lane never matters.
using WordTag = hn::ScalableTag<std::uint64_t>;
using WordVector = hn::Vec<WordTag>;

// The 64-bit products of the lower halves.
HWY_INLINE WordVector multiply_words(WordVector x, WordVector y) {
#if HWY_TARGET == HWY_SCALAR
  const WordVector lower = hn::Set(WordTag(), 0xFFFFFFFF);
  return hn::Mul(hn::And(x, lower), hn::And(y, lower));
#else
  const hn::Repartition<std::uint32_t, WordTag> d32;
  return hn::MulEven(hn::BitCast(d32, x), hn::BitCast(d32, y));
#endif
}

// Ten rounds on counters (c0, c1, c2, 0), in place.
HWY_INLINE void philox_rounds(std::uint64_t seed, WordVector& c0, WordVector& c1, WordVector& c2, WordVector& c3) {
  const WordTag d;
  auto key0 = static_cast<std::uint32_t>(seed);
  auto key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const WordVector product0 = multiply_words(c0, hn::Set(d, 0xD2511F53));
    const WordVector product1 = multiply_words(c2, hn::Set(d, 0xCD9E8D57));
    c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(product1), c1), hn::Set(d, key0));
    c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(product0), c3), hn::Set(d, key1));
    c1 = product1;
    c3 = product0;
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
}

// Block b has the counter (b / 65536, 0, b mod 65536, 0), with the upper bits of b / 65536 in the second word. This is
// the order of cuRAND's host generator, which runs 65,536 subsequences side by side.
template <std::size_t count>
HWY_INLINE void philox_blocks(std::uint64_t seed, std::uint64_t first_block, PhiloxWords<count>& words) {
  const WordTag d;
  const hn::Rebind<std::uint32_t, WordTag> narrow;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const WordVector block = hn::Add(hn::Iota(d, 0), hn::Set(d, first_block + i));
    WordVector c0 = hn::ShiftRight<16>(block);
    WordVector c1 = hn::ShiftRight<48>(block);
    WordVector c2 = hn::And(block, hn::Set(d, 0xFFFF));
    WordVector c3 = hn::Zero(d);
    philox_rounds(seed, c0, c1, c2, c3);
    hn::StoreU(hn::TruncateTo(narrow, c0), narrow, words.word[0] + i);
    hn::StoreU(hn::TruncateTo(narrow, c1), narrow, words.word[1] + i);
    hn::StoreU(hn::TruncateTo(narrow, c2), narrow, words.word[2] + i);
    hn::StoreU(hn::TruncateTo(narrow, c3), narrow, words.word[3] + i);
  }
}

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASYNCGRAD_PHILOX_INL
