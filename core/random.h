// Random numbers: Philox 4x32-10, counter based, so that a number depends on its place in the sequence alone.
#pragma once

#include <cstdint>

namespace asyncgrad {

// A place in one of 2^64 sequences. The call that queues a random operation takes its range of numbers here and then,
// so results do not depend on when, where or in which order the operation runs. One thread at a time may use a
// Generator.
class Generator {
 public:
  explicit Generator(std::uint64_t seed = 0) : seed_(seed) {}

  std::uint64_t seed() const { return seed_; }
  // Takes the next `words` 32-bit numbers, rounded up to whole blocks of four; returns the number of the first block.
  std::uint64_t take(std::uint64_t words) {
    const std::uint64_t first_block = next_block_;
    next_block_ += (words + 3) / 4;
    return first_block;
  }

 private:
  std::uint64_t seed_;
  std::uint64_t next_block_ = 0;
};

// The generator that factories and initialisers use unless they are given another; seed 0 at first. It belongs to the
// first thread that uses it: throws Error on any other, which brings its own Generator.
Generator& default_generator();
// Starts the default generator's sequence anew. For that same thread.
void manual_seed(std::uint64_t seed);

}  // namespace asyncgrad
