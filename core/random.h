// Random numbers by Philox 4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"). The generator
// is counter based: a number depends on the seed and on its position in the sequence alone.
#pragma once

#include <cstdint>

namespace asyncgrad {

// A position in one of 2^64 sequences. The call that queues a random operation takes its range of numbers from the
// generator at once, so results do not depend on when, where or in which order operations run. One thread at a time may
// use a Generator. Nothing here blocks.
class Generator {
 public:
  // A generator made of another one's seed and place goes on where that one is.
  explicit Generator(std::uint64_t seed = 0, std::uint64_t place = 0) : seed_(seed), next_block_(place) {}

  std::uint64_t seed() const { return seed_; }
  std::uint64_t place() const { return next_block_; }  // the number of blocks taken so far
  // Takes the next `words` 32-bit numbers, rounded up to whole blocks of four; returns the index of the first block.
  std::uint64_t take(std::uint64_t words);

 private:
  std::uint64_t seed_;
  std::uint64_t next_block_;
};

// The generator that factories and initialisers use unless they are given another: that of the GeneratorScope around
// the call, else the process's, whose first seed is 0. The latter belongs to the first thread that uses it: the call
// throws Error on any other thread, because the order of threads would decide on the numbers. In a world of several
// processes it gives other numbers on each rank, see dist/world.h.
Generator& default_generator();
// Restarts the default generator with this seed. Throws as default_generator() does.
void manual_seed(std::uint64_t seed);

// While it lives, `generator` is the default generator of the calling thread. A thread of a server makes its network so:
//
//   ag::Generator generator(1);
//   const ag::GeneratorScope scope(generator);
//   Net net;  // its initial values are the same on every thread
//   ag::nn::load("net.safetensors", net);
class GeneratorScope {
 public:
  [[nodiscard]] explicit GeneratorScope(Generator& generator);
  GeneratorScope(const GeneratorScope&) = delete;
  GeneratorScope& operator=(const GeneratorScope&) = delete;
  ~GeneratorScope();

 private:
  Generator* outer_;
};

}  // namespace asyncgrad
