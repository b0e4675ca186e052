// What one way of running a random program must have in common with another.
#pragma once

#include <gtest/gtest.h>

#include "tests/core/engine/random_program.h"

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

}  // namespace asyncgrad::tests
