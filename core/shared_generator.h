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
// those of a process alone. Other generators do not change. Any thread.
void set_rank_of_default_generator(int rank);
// The seed of the numbers that operations take from the generator: its own, and for the process's default generator one
// mixed from that and the rank.
std::uint64_t key_of(const Generator& generator);

}  // namespace asyncgrad::detail
