// The random words of every kernel: Philox 4x32-10. Internal.
#pragma once

#include <cstdint>

namespace asyncgrad::detail::cuda {

struct Words {
  std::uint32_t word[4];
};

// The four words of a block, as cpu/random/philox-inl.h has them.
__device__ inline Words philox(std::uint64_t seed, std::uint64_t block) {
  Words c{{static_cast<std::uint32_t>(block >> 16), static_cast<std::uint32_t>(block >> 48),
           static_cast<std::uint32_t>(block & 0xFFFF), 0}};
  auto key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53} * c.word[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * c.word[2];
    c = {{static_cast<std::uint32_t>(product1 >> 32) ^ c.word[1] ^ key0, static_cast<std::uint32_t>(product1),
          static_cast<std::uint32_t>(product0 >> 32) ^ c.word[3] ^ key1, static_cast<std::uint32_t>(product0)}};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return c;
}

}  // namespace asyncgrad::detail::cuda
