// uniform and normal: a thread computes a block of Philox 4x32-10 and the numbers that come of it, by the formulas of
// cpu/random/random_chunks.cpp and with its bits; only normal in float64 may differ in the last ones.
#include <cmath>
#include <numbers>

#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/for_each.cuh"
#include "asyncgrad/backends/cuda/kernels/pack.cuh"
#include "asyncgrad/backends/cuda/kernels/philox.cuh"

namespace asyncgrad::detail::cuda {

namespace {

// --- float32

// In (0, 1]: w 2^-32 + 2^-33.
__device__ float unit_interval(std::uint32_t word) { return static_cast<float>(word) * 0x1p-32F + 0x1p-33F; }

// ln u for a positive normal u, to about 1 ulp; the polynomial is that of logf in Moshier's Cephes library.
__device__ float logarithm(float u) {
  constexpr std::int32_t sqrt_half = 0x3F3504F3;
  std::int32_t bits;
  memcpy(&bits, &u, sizeof(u));
  const std::int32_t exponent = (bits - sqrt_half) >> 23;
  bits -= exponent * (1 << 23);
  float mantissa;  // in [sqrt 1/2, sqrt 2)
  memcpy(&mantissa, &bits, sizeof(bits));
  const auto e = static_cast<float>(exponent);
  const float x = mantissa - 1, z = x * x;
  float y = 7.0376836292E-2F;
  y = y * x + -1.1514610310E-1F;
  y = y * x + 1.1676998740E-1F;
  y = y * x + -1.2420140846E-1F;
  y = y * x + 1.4249322787E-1F;
  y = y * x + -1.6668057665E-1F;
  y = y * x + 2.0000714765E-1F;
  y = y * x + -2.4999993993E-1F;
  y = y * x + 3.3333331174E-1F;
  y = (y * x) * z;
  y = e * -2.12194440E-4F + y;
  y = y - 0.5F * z;
  return e * 0.693359375F + (x + y);
}

template <class T>
struct SineCosine {
  T sine, cosine;
};

// Sine and cosine of 2 pi w / 2^32, to about 1 ulp. The upper bits of w + 2^29 are the nearest quarter turn, and the
// remainder is exact until it becomes a float; the polynomials on [-pi/4, pi/4] are those of sinf and cosf in Cephes.
__device__ SineCosine<float> sine_cosine(std::uint32_t word) {
  const std::uint32_t quarter = (word + 0x20000000) >> 30;
  const auto rest = static_cast<std::int32_t>(word - (quarter << 30));
  const float x = static_cast<float>(rest) * static_cast<float>(2 * std::numbers::pi * 0x1p-32);
  const float z = x * x;
  float s = -1.9515295891E-4F * z + 8.3321608736E-3F;
  s = s * z + -1.6666654611E-1F;
  s = (s * z) * x + x;
  float c = 2.443315711809948E-5F * z + -1.388731625493765E-3F;
  c = c * z + 4.166664568298827E-2F;
  c = (((c * z) * z) - 0.5F * z) + 1;
  // Odd quarters exchange the two; the sine is negative in quarters 2 and 3, the cosine in 1 and 2.
  const float sine = quarter % 2 == 0 ? s : c, cosine = quarter % 2 == 0 ? c : s;
  return {(quarter & 2) != 0 ? -sine : sine, ((quarter + 1) & 2) != 0 ? -cosine : cosine};
}

// --- float64

// In (0, 1]: 53 bits of two words.
__device__ double unit_interval(std::uint32_t low, std::uint32_t high) {
  return static_cast<double>(low ^ (std::uint64_t{high} << 21)) * 0x1p-53 + 0x1p-54;
}

// --- The numbers of a block

struct UnitNumbers {  // in (0, 1]
  __device__ void operator()(const Words& w, float* out) const {
    for (int i = 0; i < 4; ++i) out[i] = unit_interval(w.word[i]);
  }
  __device__ void operator()(const Words& w, double* out) const {
    for (int i = 0; i < 2; ++i) out[i] = unit_interval(w.word[2 * i], w.word[2 * i + 1]);
  }
};

struct NormalNumbers {  // from N(0, 1), by Box and Muller's method
  __device__ void operator()(const Words& w, float* out) const {
    for (int i = 0; i < 4; i += 2) {
      const float radius = std::sqrt(-2 * logarithm(unit_interval(w.word[i])));
      const SineCosine<float> angle = sine_cosine(w.word[i + 1]);
      out[i] = radius * angle.cosine;
      out[i + 1] = radius * angle.sine;
    }
  }
  __device__ void operator()(const Words& w, double* out) const {
    const double radius = std::sqrt(-2 * std::log(unit_interval(w.word[0], w.word[1])));
    const double angle = 2 * std::numbers::pi * unit_interval(w.word[2], w.word[3]);
    out[0] = radius * std::cos(angle);
    out[1] = radius * std::sin(angle);
  }
};

// out = numbers scale + offset, a block a thread.
template <class Numbers, class T>
struct RandomBlock {
  T* out;
  std::int64_t numel;
  std::uint64_t seed, first_block;
  T scale, offset;
  bool is_packed;

  __device__ void operator()(std::int64_t block) const {
    constexpr int size = Pack<T>::size;
    Pack<T> numbers;
    Numbers()(philox(seed, first_block + static_cast<std::uint64_t>(block)), numbers.x);
    for (T& number : numbers.x) number = number * scale + offset;
    const std::int64_t first = block * size;
    if (is_packed && first + size <= numel) {
      pack_at(out, block) = numbers;
      return;
    }
    for (int i = 0; i < size && first + i < numel; ++i) out[first + i] = numbers.x[i];
  }
};

template <class Numbers>
void run_random(const KernelCall& call, double scale, double offset) {
  const auto& a = call.attributes<RandomAttributes>();
  visit_floating(call.dtype(0), [&]<class T>(T) {
    const std::int64_t blocks = packs_of<T>(call.numel(0));
    T* const out = call.data<T>(0);
    for_each(call, blocks,
             RandomBlock<Numbers, T>{out, call.numel(0), a.seed, a.first_block, static_cast<T>(scale),
                                     static_cast<T>(offset), is_aligned_for_packs(out)});
  });
}

void run_uniform(const KernelCall& call, int) {
  const auto& a = call.attributes<RandomAttributes>();
  run_random<UnitNumbers>(call, a.high - a.low, a.low);
}
void run_normal(const KernelCall& call, int) {
  const auto& a = call.attributes<RandomAttributes>();
  run_random<NormalNumbers>(call, a.high, a.low);
}

}  // namespace

constinit const Kernel kernels::uniform{.run = run_uniform};
constinit const Kernel kernels::normal{.run = run_normal};

}  // namespace asyncgrad::detail::cuda
