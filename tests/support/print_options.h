// The names of tests that run under several options.
#pragma once

#include <array>
#include <cstddef>
#include <ostream>

#include "asyncgrad/core/engine.h"

namespace asyncgrad {

// Prints "2_workers_oldest_first_inline". GoogleTest finds this function by its name.
inline void PrintTo(const EngineOptions& options, std::ostream* out) {  // NOLINT(readability-identifier-naming)
  constexpr std::array schedules{"oldest_first", "first_ready", "immediate", "dry_run"};
  *out << options.workers << "_workers_" << schedules[static_cast<std::size_t>(options.schedule)];
  if (options.inline_tiny) *out << "_inline";
  if (options.queue_capacity != EngineOptions().queue_capacity) *out << "_queue_of_" << options.queue_capacity;
}

}  // namespace asyncgrad
