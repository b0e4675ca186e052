// The machine that figures were measured on.
#pragma once

#include <cstdint>
#include <string>

namespace asyncgrad::experiment {

// A text that the system does not report is "unknown".
struct Machine {
  std::string cpu;
  unsigned cores;
  std::int64_t memory_bytes;
  std::string os, compiler, onednn;
};
Machine machine();

}  // namespace asyncgrad::experiment
