// A system that refuses memory and threads. This program has functions of its own in place of the system's, which the
// library and the libraries below it call.
#pragma once

#include <cstdint>

namespace asyncgrad::refusals {

enum Kind : unsigned {
  objects = 1,        // operator new
  memory = 2,         // mmap, aligned_alloc
  threads = 4,        // pthread_create
  address_space = 8,  // a limit, not a request: `first` steps more than there is now
  data_space = 16,    // likewise
};

// Requests of these kinds, counted from 0: `first` and the `count - 1` after it are refused.
struct Refusal {
  unsigned kinds;
  std::int64_t first;
  std::int64_t count;
};
constexpr bool is_limit(unsigned kinds) { return (kinds & (address_space | data_space)) != 0; }

// Refuses from now on, on all threads.
void refuse(const Refusal& refusal);
// How many requests of those kinds there were, or how many steps of a limit are worth trying.
std::int64_t give_again();
// Writes the calls that led to the first refusal to standard output. Takes no memory.
void print_first_refusal();
// Prints the calls that led here.
void print_calls();

}  // namespace asyncgrad::refusals
