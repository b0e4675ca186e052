// Describes measured runs in text.
#pragma once

#include <string>

#include "examples/support/machine.h"

namespace support {

// A table with a heading and a row for each run, with medians over repetitions. Every line ends with '\n'.
std::string table(const Json& runs);

// At most three sentences that are computed from the runs, each on a line of its own; empty if there are no runs.
std::string sentences(const Json& runs);

}  // namespace support
