// The actions of a program while the system refuses memory or threads, and the result that it must have afterwards.
#pragma once

#include <span>

namespace asyncgrad::refusals {

struct Scenario {
  const char* name;
  unsigned kinds;         // of requests that are refused
  bool is_one_at_a_time;  // not all requests from one on
  void (*set_up)();       // options
  void (*before)();       // before anything is refused; null: the library has not been used then
  void (*work)();         // while it is; may throw Error or std::bad_alloc
  double (*result)();     // afterwards: the same in every process
};

std::span<const Scenario> scenarios();

}  // namespace asyncgrad::refusals
