// The ways in which tests run a random program.
#pragma once

#include "asyncgrad/core/engine.h"

namespace asyncgrad::tests {

struct Way {
  const char* name;
  Schedule schedule;
  MemoryBudget budget;
};

inline constexpr Way ways[] = {
    {"oldest first", Schedule::oldest_first, MemoryBudget::automatic()},
    {"one at a time", Schedule::oldest_first, MemoryBudget::bytes(0)},
    {"a little room", Schedule::oldest_first, MemoryBudget::bytes(4'000'000)},
    {"unbounded", Schedule::oldest_first, MemoryBudget::unbounded()},
    {"first ready", Schedule::first_ready, MemoryBudget::unbounded()},
};

}  // namespace asyncgrad::tests
