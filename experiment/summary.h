// Describes measured runs in text.
#pragma once

#include <string>

#include "asyncgrad/experiment/results.h"

namespace asyncgrad::experiment {

// A table with a heading and a row for each run, with medians over repetitions. A figure that was not measured is
// blank. Every line ends with '\n'.
std::string table(const Measurements& runs);

// At most three sentences that are computed from the runs, each on a line of its own; empty if there are no runs.
std::string sentences(const Measurements& runs);

}  // namespace asyncgrad::experiment
