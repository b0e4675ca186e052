// Turns Philox's words into numbers; compiled once for every instruction set. It uses no fused multiply-add, because an
// instruction set without one would give other bits.
#include "asyncgrad/backends/cpu/random/random_chunks.h"

#include <cmath>
#include <numbers>

#include "asyncgrad/backends/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/random/random_chunks.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/random/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

using F = hn::ScalableTag<float>;
using I = hn::ScalableTag<std::int32_t>;
using U = hn::ScalableTag<std::uint32_t>;
using VF = hn::Vec<F>;
using VI = hn::Vec<I>;
using VU = hn::Vec<U>;
using Words = PhiloxWords<chunk_blocks>;

HWY_INLINE VF constant(float value) { return hn::Set(F(), value); }
// x y + z, rounded twice.
HWY_INLINE VF multiply_add(VF x, VF y, VF z) { return hn::Add(hn::Mul(x, y), z); }
HWY_INLINE VF multiply_add(VF x, VF y, float z) { return multiply_add(x, y, constant(z)); }

// u in (0, 1] by cuRAND's formula: w 2^-32 + 2^-33.
HWY_INLINE VF unit_interval(VU words) { return multiply_add(hn::ConvertTo(F(), words), constant(0x1p-32F), 0x1p-33F); }

// ln u for a positive normal u, to about 1 ulp; the polynomial is that of logf in Moshier's Cephes library.
HWY_INLINE VF logarithm(VF u) {
  const VI sqrt_half = hn::Set(I(), 0x3F3504F3);
  const VI bits = hn::BitCast(I(), u);
  const VI exponent = hn::ShiftRight<23>(hn::Sub(bits, sqrt_half));
  const VF mantissa = hn::BitCast(F(), hn::Sub(bits, hn::ShiftLeft<23>(exponent)));  // in [sqrt 1/2, sqrt 2)
  const VF e = hn::ConvertTo(F(), exponent);
  const VF x = hn::Sub(mantissa, constant(1));
  const VF z = hn::Mul(x, x);
  VF y = constant(7.0376836292E-2F);
  y = multiply_add(y, x, -1.1514610310E-1F);
  y = multiply_add(y, x, 1.1676998740E-1F);
  y = multiply_add(y, x, -1.2420140846E-1F);
  y = multiply_add(y, x, 1.4249322787E-1F);
  y = multiply_add(y, x, -1.6668057665E-1F);
  y = multiply_add(y, x, 2.0000714765E-1F);
  y = multiply_add(y, x, -2.4999993993E-1F);
  y = multiply_add(y, x, 3.3333331174E-1F);
  y = hn::Mul(hn::Mul(y, x), z);
  y = multiply_add(e, constant(-2.12194440E-4F), y);
  y = hn::Sub(y, hn::Mul(constant(0.5F), z));
  return multiply_add(e, constant(0.693359375F), hn::Add(x, y));
}

struct SineCosine {
  VF sine, cosine;
};

// Sine and cosine of 2 pi w / 2^32, to about 1 ulp. The upper bits of w + 2^29 are the nearest quarter turn; the
// remainder is exact until it becomes a float. The polynomials on [-pi/4, pi/4] are those of sinf and cosf in Cephes.
HWY_INLINE SineCosine sine_cosine(VU words) {
  const VU quarter = hn::ShiftRight<30>(hn::Add(words, hn::Set(U(), 0x20000000)));
  const VI rest = hn::BitCast(I(), hn::Sub(words, hn::ShiftLeft<30>(quarter)));
  const VF x = hn::Mul(hn::ConvertTo(F(), rest), constant(static_cast<float>(2 * std::numbers::pi * 0x1p-32)));
  const VF z = hn::Mul(x, x);
  VF s = multiply_add(constant(-1.9515295891E-4F), z, 8.3321608736E-3F);
  s = multiply_add(s, z, -1.6666654611E-1F);
  s = multiply_add(hn::Mul(s, z), x, x);
  VF c = multiply_add(constant(2.443315711809948E-5F), z, -1.388731625493765E-3F);
  c = multiply_add(c, z, 4.166664568298827E-2F);
  c = hn::Add(hn::Sub(hn::Mul(hn::Mul(c, z), z), hn::Mul(constant(0.5F), z)), constant(1));
  // Odd quarters exchange the two; the sine is negative in quarters 2 and 3, the cosine in 1 and 2.
  const auto odd = hn::MaskFromVec(hn::BitCast(F(), hn::Neg(hn::BitCast(I(), hn::And(quarter, hn::Set(U(), 1))))));
  const VU two = hn::Set(U(), 2);
  const VU sine_sign = hn::ShiftLeft<30>(hn::And(quarter, two));
  const VU cosine_sign = hn::ShiftLeft<30>(hn::And(hn::Add(quarter, hn::Set(U(), 1)), two));
  return {hn::Xor(hn::IfThenElse(odd, c, s), hn::BitCast(F(), sine_sign)),
          hn::Xor(hn::IfThenElse(odd, s, c), hn::BitCast(F(), cosine_sign))};
}

void uniform32(std::uint64_t seed, std::uint64_t first_block, double low, double high, float* out) {
  Words words;
  philox_blocks(seed, first_block, words);
  const VF scale = constant(static_cast<float>(high - low));
  const VF offset = constant(static_cast<float>(low));
  for (std::size_t i = 0; i < chunk_blocks; i += hn::Lanes(F())) {
    const VF x0 = multiply_add(unit_interval(hn::Load(U(), words.word[0] + i)), scale, offset);
    const VF x1 = multiply_add(unit_interval(hn::Load(U(), words.word[1] + i)), scale, offset);
    const VF x2 = multiply_add(unit_interval(hn::Load(U(), words.word[2] + i)), scale, offset);
    const VF x3 = multiply_add(unit_interval(hn::Load(U(), words.word[3] + i)), scale, offset);
    hn::StoreInterleaved4(x0, x1, x2, x3, F(), out + 4 * i);
  }
}

void normal32(std::uint64_t seed, std::uint64_t first_block, double mean, double deviation, float* out) {
  Words words;
  philox_blocks(seed, first_block, words);
  const VF scale = constant(static_cast<float>(deviation));
  const VF offset = constant(static_cast<float>(mean));
  for (std::size_t i = 0; i < chunk_blocks; i += hn::Lanes(F())) {
    VF x[4];
    for (std::size_t pair = 0; pair < 4; pair += 2) {
      const VF u = unit_interval(hn::Load(U(), words.word[pair] + i));
      const VF radius = hn::Sqrt(hn::Mul(constant(-2), logarithm(u)));
      const SineCosine angle = sine_cosine(hn::Load(U(), words.word[pair + 1] + i));
      x[pair] = multiply_add(hn::Mul(radius, angle.cosine), scale, offset);
      x[pair + 1] = multiply_add(hn::Mul(radius, angle.sine), scale, offset);
    }
    hn::StoreInterleaved4(x[0], x[1], x[2], x[3], F(), out + 4 * i);
  }
}

// --- float64, which serves gradient checks: the code is simple rather than fast.

// u in (0, 1] by cuRAND's formula, from 53 bits of two words.
HWY_INLINE double unit_interval64(const Words& words, std::size_t pair, std::size_t block) {
  const std::uint64_t low = words.word[2 * pair][block], high = words.word[2 * pair + 1][block];
  return static_cast<double>(low ^ (high << 21)) * 0x1p-53 + 0x1p-54;
}

void uniform64(std::uint64_t seed, std::uint64_t first_block, double low, double high, double* out) {
  Words words;
  philox_blocks(seed, first_block, words);
  for (std::size_t i = 0; i < chunk_blocks; ++i) {
    for (std::size_t pair = 0; pair < 2; ++pair) *out++ = unit_interval64(words, pair, i) * (high - low) + low;
  }
}

void normal64(std::uint64_t seed, std::uint64_t first_block, double mean, double deviation, double* out) {
  Words words;
  philox_blocks(seed, first_block, words);
  for (std::size_t i = 0; i < chunk_blocks; ++i) {
    const double radius = std::sqrt(-2 * std::log(unit_interval64(words, 0, i)));
    const double angle = 2 * std::numbers::pi * unit_interval64(words, 1, i);
    *out++ = radius * std::cos(angle) * deviation + mean;
    *out++ = radius * std::sin(angle) * deviation + mean;
  }
}

void words64(std::uint64_t seed, std::uint64_t first_block, std::uint64_t* out) {
  Words words;
  philox_blocks(seed, first_block, words);
  for (std::size_t i = 0; i < chunk_blocks; ++i) {
    for (std::size_t pair = 0; pair < 2; ++pair) {
      *out++ = words.word[2 * pair][i] | std::uint64_t{words.word[2 * pair + 1][i]} << 32;
    }
  }
}
RandomWords random_words() { return words64; }

FloatingLoops<RandomChunks> random_chunks() { return {{uniform32, normal32}, {uniform64, normal64}}; }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

HWY_EXPORT(random_words);
HWY_EXPORT(random_chunks);

RandomWords random_words() {
  static const RandomWords words = HWY_DYNAMIC_DISPATCH(random_words)();
  return words;
}
const FloatingLoops<RandomChunks>& random_chunks() {
  static const auto chunks = HWY_DYNAMIC_DISPATCH(random_chunks)();
  return chunks;
}

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
