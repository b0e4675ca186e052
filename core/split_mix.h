// A hash of numbers, for keys of random numbers. Internal.
#pragma once

#include <cstdint>

namespace asyncgrad::detail {

// The number that SplitMix64 gives for a counter: https://prng.di.unimi.it/splitmix64.c
constexpr std::uint64_t split_mix(std::uint64_t counter) {
  std::uint64_t z = counter + 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// A key of random numbers serves one of these. Equal numbers of different purposes give unlike keys.
enum class KeyPurpose : std::uint8_t { numbered, rank, weighted };

// A key for each number, of the same seed. Neighbouring seeds and numbers give unlike keys.
constexpr std::uint64_t mixed_key(std::uint64_t seed, std::uint64_t number, KeyPurpose purpose = KeyPurpose::numbered) {
  std::uint64_t key = split_mix(seed);
  if (purpose != KeyPurpose::numbered) key = split_mix(key + static_cast<std::uint64_t>(purpose));
  return split_mix(key ^ number);
}

}  // namespace asyncgrad::detail
