#include <cmath>
#include <numbers>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/tiling.h"

namespace asyncgrad::detail {
namespace {
std::array<std::uint32_t, 4> philox(std::uint64_t block, std::uint64_t seed) {
  std::array<std::uint32_t, 4> c{static_cast<std::uint32_t>(block >> 16), static_cast<std::uint32_t>(block >> 48),
                                 static_cast<std::uint32_t>(block & 0xFFFF), 0};
  auto k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * c[0], b = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(a)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}
float unit(std::uint32_t w, float) { return static_cast<float>(w) * 0x1p-32F + 0x1p-33F; }
double unit64(std::uint32_t lo, std::uint32_t hi) {
  return static_cast<double>(lo ^ (std::uint64_t{hi} << 21)) * 0x1p-53 + 0x1p-54;
}
template <class T, class F>
void fill(const KernelCall& call, F f) {
  const auto& a = call.attributes<RandomAttributes>();
  constexpr std::int64_t per = 16 / sizeof(T);
  for (std::int64_t i = 0; i < call.numel(0); ++i) {
    call.data<T>(0)[i] = f(philox(a.first_block + static_cast<std::uint64_t>(i / per), a.seed), i % per);
  }
}
void run_uniform(const KernelCall& call, int) {
  const auto& a = call.attributes<RandomAttributes>();
  visit_floating(call.dtype(0), [&]<class T>(T) {
    const T low = static_cast<T>(a.low), range = static_cast<T>(a.high - a.low);
    fill<T>(call, [&](const auto& w, auto i) -> T {
      T u;
      if constexpr (sizeof(T) == 4)
        u = unit(w[static_cast<std::size_t>(i)], T{});
      else
        u = unit64(w[static_cast<std::size_t>(2 * i)], w[static_cast<std::size_t>(2 * i + 1)]);
      return u * range + low;
    });
  });
}
void run_normal(const KernelCall& call, int) {
  const auto& a = call.attributes<RandomAttributes>();
  visit_floating(call.dtype(0), [&]<class T>(T) {
    fill<T>(call, [&](const auto& w, auto i) -> T {
      double u, v;
      if constexpr (sizeof(T) == 4) {
        u = unit(w[static_cast<std::size_t>(i & 2)], T{});
        v = w[static_cast<std::size_t>((i & 2) + 1)] * 0x1p-32;
      } else {
        u = unit64(w[0], w[1]);
        v = unit64(w[2], w[3]);
      }
      const double r = std::sqrt(-2 * std::log(u)), angle = 2 * std::numbers::pi * v;
      return static_cast<T>(a.low + a.high * (r * (i % 2 == 0 ? std::cos(angle) : std::sin(angle))));
    });
  });
}
}  // namespace
void add_random_kernels(Backend& backend) {
  kernel_of(backend, Op::uniform) = {.run = run_uniform};
  kernel_of(backend, Op::normal) = {.run = run_normal};
}
}  // namespace asyncgrad::detail
