// The properties in which two ways of running a random program must agree.
#pragma once

#include <gtest/gtest.h>

#include "tests/core/engine/random_program.h"
#include "tests/core/engine/ways.h"

namespace asyncgrad::tests {

// The same values and errors were seen, the serial peaks are those of `expected`, each device kept within its memory,
// and nothing is left.
inline void expect_same(const Outcome& outcome, const Outcome& expected) {
  EXPECT_EQ(outcome.seen, expected.seen);
  EXPECT_TRUE(outcome.has_serial_peaks_of(expected));
  for (const Outcome::Memory& memory : outcome.memory) {
    EXPECT_EQ(memory.left_live, 0);
    EXPECT_TRUE(memory.fits()) << memory.peak_live << " bytes where " << memory.limit << " are allowed, "
                               << memory.serial_peak << " if all ran at its call";
  }
}

// The programs, which do not fail, see side by side what each of them sees when it runs operation by operation.
inline void expect_same_side_by_side(const std::vector<ProgramOptions>& programs, EngineOptions options) {
  std::vector<std::vector<std::string>> expected;
  for (const ProgramOptions& program : programs) {
    expected.push_back(run_program(program, {.schedule = Schedule::immediate, .inline_tiny = false}).seen);
  }
  const RandomDelays delays(programs.front().seed);
  for (const Way& way : ways) {
    options.schedule = way.schedule;
    options.memory_budget = way.budget;
    EXPECT_EQ(run_together(programs, options), expected) << way.name << ", seeds from " << programs.front().seed;
  }
}

}  // namespace asyncgrad::tests
