// Random numbers for the items of a data set.
#pragma once

#include <cstdint>
#include <limits>

#include "asyncgrad/core/split_mix.h"

namespace asyncgrad::data {

using detail::split_mix;

// The random numbers of one item in one epoch: they depend on the seed, the epoch and the item's index alone, so that
// augmentation is the same in every run, on every thread, and after a checkpoint. A uniform random bit generator for
// the distributions of <random>: std::uniform_int_distribution<int>(0, 8)(random). One thread at a time may use it.
class Random {
 public:
  using result_type = std::uint64_t;

  constexpr Random(std::uint64_t seed, std::int64_t epoch, std::int64_t index)
      : next_(
            split_mix(detail::mixed_key(seed, static_cast<std::uint64_t>(epoch)) ^ static_cast<std::uint64_t>(index))),
        epoch_(epoch) {}

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  constexpr result_type operator()() { return split_mix(next_++); }

  // Uniform in [0, 1), a multiple of 2^-53.
  constexpr double uniform() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }
  constexpr std::int64_t epoch() const { return epoch_; }

 private:
  std::uint64_t next_;
  std::int64_t epoch_;
};

}  // namespace asyncgrad::data
