// The process's default generator: in a front end whose threads take turns, as those of Python do, and in a process that is
// one of several. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/core/random.h"

namespace asyncgrad::detail {

// Lets any thread use the default generator. Call it before a second thread does. In C++ the generator belongs to one
// thread.
void share_default_generator();

// From here on the process's default generator gives the numbers of this rank, from 0 on, whatever its seed: rank 0's are
// those of a process alone. Other generators do not change. Any thread may call it.
void set_rank_of_default_generator(int rank);
// The seed of the numbers that operations take from the generator: its own, and for the process's default generator one
// mixed from that and the rank.
std::uint64_t key_of(const Generator& generator);

// The numbers that an operation computes: a range of 32-bit words of one sequence.
struct TakenNumbers {
  std::uint64_t key, first_block;
};
// Takes the next `words` of the generator, or of the default one if it is null. In what is computed again, those that were
// taken the first time, whatever has become of the generator.
TakenNumbers take_numbers(Generator* generator, std::uint64_t words);

}  // namespace asyncgrad::detail
