#include <limits>

#include "tests/backends/cuda/both_backends.h"

namespace asyncgrad::detail {

namespace {

// There are ordinary seeds and blocks, and some of more than 32 bits.
const std::vector<RandomAttributes> places = {{.seed = 0, .first_block = 0, .low = 0, .high = 1},
                                              {.seed = 0x123456789ABCDEF0, .first_block = 65530, .low = -2, .high = 5},
                                              {.seed = ~0ULL, .first_block = (1ULL << 50) - 3, .low = 3, .high = 0.5}};

template <class Check>
void for_places(Check check) {
  for (const RandomAttributes& attributes : places) {
    for (const std::int64_t n : {0, 1, 3, 1001, 5001}) check(attributes, n);
  }
}

TEST(CudaUniform, HasTheCpusBits) {
  for_places([](const RandomAttributes& a, std::int64_t n) {
    for_floating([&]<class T>(T) { BothBackends().output<T>(n).run(Op::uniform, a).template expect_same_bits<T>(); });
  });
}

TEST(CudaNormal, HasTheCpusBitsInFloat32) {
  for_places([](const RandomAttributes& a, std::int64_t n) {
    BothBackends().output<float>(n).run(Op::normal, a).expect_same_bits<float>();
  });
}
TEST(CudaNormal, IsTheCpusInFloat64) {
  for_places([](const RandomAttributes& a, std::int64_t n) {
    BothBackends().output<double>(n).run(Op::normal, a).expect_close<double>(4, 1);
  });
}

TEST(CudaRandint, HasTheCpusBits) {
  for_places([](const RandomAttributes& place, std::int64_t n) {
    for (const std::uint64_t span : {1ULL, 1000ULL, (1ULL << 40) + 7, ~0ULL}) {
      const RandintAttributes a{place.seed, place.first_block, std::numeric_limits<std::int64_t>::min(), span};
      BothBackends().output<std::int64_t>(n).run(Op::randint, a).expect_same_bits<std::int64_t>();
    }
  });
}

TEST(CudaPermutation, HasTheCpusBits) {
  for (const RandomAttributes& place : places) {
    for (const std::int64_t n : {0, 1, 2, 3, 4, 5, 17, 1001, 3001}) {
      const RandintAttributes a{place.seed, place.first_block, 0, static_cast<std::uint64_t>(n)};
      BothBackends().output<std::int64_t>(n).run(Op::permutation, a).expect_same_bits<std::int64_t>();
    }
  }
}

TEST(CudaDropout, HasTheCpusBits) {
  for_places([](const RandomAttributes& place, std::int64_t n) {
    for (const std::uint32_t last_dropped : {0U, 0x4CCCCCCCU, ~0U}) {
      const DropoutAttributes a{place.seed, place.first_block, 1.7, last_dropped};
      for_floating([&]<class T>(T) {
        BothBackends().output<T>(n).template random_input<T>(n).run(Op::dropout, a).template expect_same_bits<T>();
      });
    }
  });
}

}  // namespace

}  // namespace asyncgrad::detail
